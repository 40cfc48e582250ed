# SPDX-License-Identifier: GPL-2.0-only
# The figures of figures.def for the manual: FIGURES_OF_ALL, FIGURES_OF_GROUPS, FIGURES_OF_REQUESTS
# and FIGURES_NAMES, as items of a list in mdoc.
set(figures_folder ${CMAKE_CURRENT_LIST_DIR})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${figures_folder}/figures.def
							       ${figures_folder}/manual.def)
execute_process(
	COMMAND ${CMAKE_C_COMPILER} -E -P -x c -I ${CMAKE_SOURCE_DIR}/correlator -I ${CMAKE_SOURCE_DIR}/include
		${figures_folder}/manual.def
	OUTPUT_VARIABLE figures_text COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "\" *\"" "" figures_text "${figures_text}")
foreach(source OF_ALL OF_GROUPS OF_REQUESTS NAMES)
	string(REGEX MATCHALL "FIGURE_ROW ${source} \"[^\"]*\"" rows "${figures_text}")
	string(REGEX REPLACE "FIGURE_ROW ${source} \"([^|]*)\\|([^\"]*)\"" ".It Li \\1\n\\2" rows "${rows}")
	string(REPLACE ";" "\n" FIGURES_${source} "${rows}")
endforeach()
