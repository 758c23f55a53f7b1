# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The role of a unit test: who runs it, how it is compiled and what it links. Its folder has a default (below), and the file itself says
# what is different, in lines of comment near its top:
#
#   // test: not sanitized, optimised, links szp codecs
#
# In a run of everything there are two trees, one of g++ and one of clang with its sanitizers. Which of them has the test:
#   sanitized          that of the sanitizers: what looks at memory and messages
#   not sanitized      that of g++: what looks at values and would take minutes under sanitizers, and what replaces operator new
#   twice              both: what depends on the code that a compiler makes of kernels
# Two smaller trees have the test as well, if it says so:
#   thread sanitizer   ranks or codecs run as threads in it
#   aarch64            the kernels of aarch64, in an emulator of the processor
# How it is compiled. Programs are not optimised: most of their time goes into the compiler, and kernels and engine come from a library that is.
#   optimised          with -O1: its own loops are long
#   not optimised
#   names kernels      with -O1 unless the compiler is g++, which optimises kernels whatever the options are
# What it links of ccoll::compiled. What is not linked, the test compiles itself.
#   links host         engine and codecs
#   links szp codecs   all codecs
#   links szp          SZp and SZe
#   links nothing
# What else it needs:
#   libzfp             as an oracle, where it is installed
#   ucx                only where it is installed; the program links it
#   emulated AVX-512   only where the machine does not have it, and simde is installed
#
# Codecs are tested twice. Those of their files that look at memory and at any bytes alone are not for g++: 'sanitized'.
set(role_of_any "not sanitized, not optimised, links host")
foreach(folder agree collectives entry exec integrity measure plan run transport wait)
  set(role_of_${folder} "sanitized")
endforeach()
foreach(folder instrument policy wire)
  set(role_of_${folder} "sanitized, links nothing")
endforeach()
set(role_of_tune "sanitized, optimised, links nothing")
set(role_of_cuda "sanitized, names kernels")
set(role_of_codec "twice, links szp codecs")
set(role_of_base "twice, optimised, links nothing")
set(role_of_algo "optimised, links nothing")
set(role_of_examples "optimised")

# The words of which one replaces the other. A word that is not in a list is added.
set(role_kinds trees optimisation links)
set(role_trees "sanitized" "not sanitized" "twice")
set(role_optimisation "optimised" "not optimised")
set(role_links "links host" "links szp codecs" "links szp" "links nothing")
set(role_additions "thread sanitizer" "aarch64" "names kernels" "libzfp" "ucx" "emulated AVX-512")

# add_role_words(<who says so> <words, with commas>): changes `role` of the caller, a list of words
function(add_role_words who text)
  string(REGEX REPLACE " *, *" ";" words "${text}")
  set(said "")
  foreach(word IN LISTS words)
    set(replaces "")
    foreach(kind ${role_kinds})
      if(word IN_LIST role_${kind})
        set(replaces ${role_${kind}})
      endif()
    endforeach()
    if(NOT replaces AND NOT word IN_LIST role_additions)
      message(FATAL_ERROR "${who}: '// test: ${text}' has the unknown word '${word}'; cmake/test_roles.cmake has those that are known")
    endif()
    foreach(other ${replaces} ${word})
      if(other IN_LIST said)
        message(FATAL_ERROR "${who}: '// test:' says '${other}' and '${word}'")
      endif()
      list(REMOVE_ITEM role ${other})
    endforeach()
    list(APPEND said ${word})
    list(APPEND role ${word})
  endforeach()
  set(role ${role} PARENT_SCOPE)
endfunction()

# read_role(<file> <name>): sets `role`, the words of the test <folder>/<file> in the folder <tests>
function(read_role tests file)
  string(REGEX REPLACE "/.*" "" folder ${file})
  set(role "")
  add_role_words("cmake/test_roles.cmake" "${role_of_any}")
  if(DEFINED role_of_${folder})
    add_role_words("cmake/test_roles.cmake" "${role_of_${folder}}")
  endif()
  # Also lines that are nearly right: they would say nothing, and nobody would see it.
  file(STRINGS ${tests}/${file} lines REGEX "^ */+ *[Tt]ests? *:")
  set(words "")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^// test: ([^ ].*)$")
      message(FATAL_ERROR "tests/${file}: '${line}' should be '// test: <words>'; cmake/test_roles.cmake has the words")
    endif()
    list(APPEND words "${CMAKE_MATCH_1}")
  endforeach()
  if(words)
    list(JOIN words ", " words)
    add_role_words("tests/${file}" "${words}")
  endif()
  list(SORT role)
  set(role ${role} PARENT_SCOPE)
endfunction()
