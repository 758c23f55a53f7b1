# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A part of another project adds its target and nothing else.
foreach(name TESTS EXAMPLES BENCHMARKS)
  if(CCOLL_BUILD_${name})
    message(FATAL_ERROR "CCOLL_BUILD_${name} is ON in a subproject")
  endif()
endforeach()
get_property(targets DIRECTORY ${ccoll_SOURCE_DIR} PROPERTY BUILDSYSTEM_TARGETS)
list(FILTER targets EXCLUDE REGEX "^ccoll_compiled")  # built where a program links ccoll::compiled
if(NOT targets STREQUAL ccoll)
  message(FATAL_ERROR "a subproject brings the targets '${targets}'")
endif()
if(CMAKE_BUILD_TYPE STREQUAL Release OR BUILD_TESTING)
  message(FATAL_ERROR "a subproject changes settings of the whole project")
endif()
