# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tests/preload: programs that know nothing of ccoll, with and without the library of examples/preload in front of every MPI.
find_package(nlohmann_json QUIET)
if(NOT nlohmann_json_FOUND)
  message(STATUS "ccoll: no tests of examples/preload (they need nlohmann-json)")
  return()
endif()
include(${root}/examples/preload/preload.cmake)
enable_language(C)

# add_preload_test(<mpi> <name> <ranks> <program's file> [arguments of check_preload.cmake, as -D has them; lists with commas])
function(add_preload_test mpi name ranks program)
  set(test preload/${mpi}/${name}/p${ranks})
  add_test(NAME ${test} COMMAND ${CMAKE_COMMAND} "-DRUN=${mpiexec_${mpi}};-n;${ranks}" -DLIBRARY=$<TARGET_FILE:ccoll_preload_${mpi}>
    -DPROGRAM=${program} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/preload/${mpi}/${name}${ranks} ${ARGN} -P ${root}/cmake/check_preload.cmake)
  set_tests_properties(${test} PROPERTIES TIMEOUT 120 LABELS preload ENVIRONMENT "${mpi_environment}")
  share_processors(${test} ${mpi} ${ranks})
endfunction()

set(preload_targets "")
set(plans ${here}/preload)
foreach(mpi ${mpis})
  set(library ccoll_preload_${mpi})
  ccoll_add_preload(${library} ccoll_mpi_${mpi})
  target_compile_options(${library} PRIVATE ${warnings} -O0)
  list(APPEND preload_targets ${library})
  foreach(name program requests errors)
    set(program preload_${name}_${mpi})
    add_executable(${program} ${here}/preload/${name}.c)
    target_compile_options(${program} PRIVATE -Wall -O1)
    target_link_libraries(${program} PRIVATE ccoll_mpi_${mpi} m)
    list(APPEND preload_targets ${program})
  endforeach()

  # Calls of a program, compressed and left to MPI, as the table must have them.
  add_preload_test(${mpi} without 3 $<TARGET_FILE:preload_program_${mpi}> -DARGUMENTS=0 "-DPRINTS=ok, 0 inexact")
  foreach(p 2 3)
    add_preload_test(${mpi} blocking ${p} $<TARGET_FILE:preload_program_${mpi}> -DPLAN=${plans}/all.json -DARGUMENTS=1e-3 "-DPRINTS=ok, [1-9]"
      "-DCOUNTS=reduce=2/0,reduce_scatter=2/0,reduce_scatter_block=1/0,bcast=3/1,allgather=1/0,allgatherv=1/0,alltoall=1/0,alltoallv=1/0,gather=1/0,gatherv=1/0,scatter=1/0,scatterv=1/0")
  endforeach()
  # What the codec auto finds depends on the machine, so the environment says what it finds.
  add_preload_test(${mpi} auto_mpi 3 $<TARGET_FILE:preload_program_${mpi}> -DPLAN=${plans}/auto.json -DSETS=CCOLL_TUNE=off -DARGUMENTS=0 "-DPRINTS=ok, 0 inexact"
    "-DCOUNTS=reduce=0/2,reduce_scatter_block=0/1,bcast=0/4,allgather=0/1,alltoall=0/1,gather=0/1,scatter=0/1")
  add_preload_test(${mpi} auto_szp 3 $<TARGET_FILE:preload_program_${mpi}> -DPLAN=${plans}/auto.json "-DSETS=CCOLL_ALGO=*:szp" -DARGUMENTS=1e-3 "-DPRINTS=ok, [1-9]"
    "-DCOUNTS=reduce=2/0,reduce_scatter_block=1/0,bcast=3/1,allgather=1/0,alltoall=1/0,gather=1/0,scatter=1/0")
  # The first rule is for the communicator of this name. Only rank 0 names it.
  set(sums_field 4/36)
  set(sums_other 3/37)
  foreach(name field other)
    add_preload_test(${mpi} rules_${name} 3 $<TARGET_FILE:preload_program_${mpi}> -DPLAN=${plans}/plans.json "-DARGUMENTS=1.2e-4,${name}" "-DPRINTS=ok, "
      "-DCOUNTS=allreduce=${sums_${name}},bcast=0/4,scatter=0/1,allgatherv=1/0,alltoall=1/0,gather=1/0")
  endforeach()
  add_preload_test(${mpi} no_plan 2 $<TARGET_FILE:preload_program_${mpi}> -DPLAN=none -DARGUMENTS=0 "-DPRINTS=ok, 0 inexact" "-DCOUNTS=bcast=0/4,gather=0/1")
  add_preload_test(${mpi} requests 3 $<TARGET_FILE:preload_requests_${mpi}> -DPLAN=${plans}/nonblocking.json -DARGUMENTS=1e-3 "-DPRINTS=ok, 12 inexact" "-DCOUNTS=allreduce=11/3,bcast=3/0")
  add_preload_test(${mpi} requests_of_mpi 2 $<TARGET_FILE:preload_requests_${mpi}> -DPLAN=${plans}/all.json -DARGUMENTS=0 "-DPRINTS=ok, 0 inexact" "-DCOUNTS=allreduce=0/12,bcast=0/1")
  add_preload_test(${mpi} no_report 1 $<TARGET_FILE:preload_program_${mpi}> -DPLAN=none -DSETS=CCOLL_PLAN_REPORT=Off -DARGUMENTS=0
    "-DPRINTS=ccoll preload: CCOLL_PLAN_REPORT: 'Off' is not known. known are off, table and file=<path>.*ok, 0 inexact")
  add_preload_test(${mpi} errors 2 $<TARGET_FILE:preload_errors_${mpi}> -DPLAN=${plans}/all.json "-DPRINTS=MPI_Allreduce on rank 1 of MPI_COMM_WORLD: ccoll::allreduce: ranks disagree on the element count.*ok")
  add_preload_test(${mpi} fatal_errors 2 $<TARGET_FILE:preload_errors_${mpi}> -DPLAN=${plans}/all.json -DARGUMENTS=fatal -DFAILS=ON "-DPRINTS=ranks disagree on the element count")

  # The compiler wrapper knows where this MPI's modules are.
  find_program(CCOLL_MPIFORT_${mpi} mpifort.${mpi})
  mark_as_advanced(CCOLL_MPIFORT_${mpi})
  if(CCOLL_MPIFORT_${mpi})
    foreach(module mpi mpi_f08)
      set(definition "")
      if(module STREQUAL mpi_f08)
        set(definition -DF08)
      endif()
      set(program ${CMAKE_CURRENT_BINARY_DIR}/preload_${module}_${mpi})
      add_custom_command(OUTPUT ${program} COMMAND ${CCOLL_MPIFORT_${mpi}} -cpp -w ${definition} ${plans}/program.f90 -o ${program} DEPENDS ${plans}/program.f90)
      add_custom_target(build_preload_${module}_${mpi} ALL DEPENDS ${program})
      list(APPEND preload_targets build_preload_${module}_${mpi})
      add_preload_test(${mpi} ${module}_without 3 ${program} -DARGUMENTS=0 "-DPRINTS=ok, 0 inexact")
      add_preload_test(${mpi} ${module} 3 ${program} -DPLAN=${plans}/nonblocking.json -DARGUMENTS=1e-3 "-DPRINTS=ok, 5 inexact" "-DCOUNTS=allreduce=4/4,bcast=1/0")
    endforeach()
  endif()
endforeach()

# Each mistake in a plan file has a sentence, and the program runs as without the file.
list(GET mpis 0 mpi)
foreach(mistake
    "codec|rule 2 [(]line 3[)]: 'codec' is 'spz'. it can be none, lossless, szp, sze, szx, auto"
    "comma|line 2: this is not JSON"
    "type|rule 1 [(]line 1[)]: a rule with a bound must say for which 'type' it is"
    "algo|rule 2 [(]line 1[)]: 'algo' is 'ring', which bcast does not have. it has auto, binomial, chain, scatter_allgather"
    "bound|rule 1 [(]line 1[)]: 'bound' is 0. it must be a positive number"
    "auto|a plan with 'nonblocking' cannot have the codec auto"
    "counts|rule 1 [(]line 1[)]: the codec auto is not for alltoallv"
    "key|'rule' is not known beside 'rules'. known are rules, nonblocking, comment"
    "missing|it cannot be read, or is empty")
  string(REGEX MATCH "^([a-z]+)[|](.*)$" ignored "${mistake}")
  add_preload_test(${mpi} bad_${CMAKE_MATCH_1} 1 $<TARGET_FILE:preload_program_${mpi}> -DPLAN=${plans}/bad/${CMAKE_MATCH_1}.json -DARGUMENTS=0
    "-DPRINTS=ccoll preload: [^ ]*json: ${CMAKE_MATCH_2}.*runs without a plan.*ok, 0 inexact")
endforeach()
add_area(preload ${preload_targets})
