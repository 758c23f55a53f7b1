# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# expect_headers_in(<folder>): it has the headers of the source tree ${ROOT}, and nothing else. Pages of rooms are for readers of the source.
function(expect_headers_in folder)
  file(GLOB_RECURSE ours RELATIVE ${ROOT}/include ${ROOT}/include/*)
  list(FILTER ours EXCLUDE REGEX "README.md$")
  file(GLOB_RECURSE theirs RELATIVE ${folder} ${folder}/*)
  if(NOT ours STREQUAL theirs)
    message(FATAL_ERROR "the headers in ${folder} are not those of the source tree:\n${theirs}\ninstead of\n${ours}")
  endif()
endfunction()
