# SPDX-License-Identifier: GPL-2.0-only
# What cmake --install puts where.
include(GNUInstallDirs)

# Pages of the manual: with the version, and what several have in common.
set(manual ${CMAKE_BINARY_DIR}/manual)
set(sending ${CMAKE_SOURCE_DIR}/correlator/command/manual/sending.mdoc)
file(READ ${sending} SENDING_OPTIONS)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sending})
file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/correlator/command/manual/*.1
     ${CMAKE_SOURCE_DIR}/correlator/record/*.5 ${CMAKE_SOURCE_DIR}/ruby/*.7)
foreach(page ${pages})
	get_filename_component(name ${page} NAME)
	string(REGEX REPLACE ".*\\." "" section ${name})
	configure_file(${page} ${manual}/${name} @ONLY)
	add_custom_command(
		OUTPUT ${manual}/${name}.gz
		COMMAND gzip -9nkf ${name}
		DEPENDS ${manual}/${name}
		WORKING_DIRECTORY ${manual}
		VERBATIM)
	list(APPEND compressed_pages ${manual}/${name}.gz)
	install(FILES ${manual}/${name}.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
add_custom_target(manual ALL DEPENDS ${compressed_pages})

install(TARGETS correlator)
install(FILES ${CMAKE_SOURCE_DIR}/correlator/command/completion.bash
	DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME correlator)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/fixtures/collectors DESTINATION ${CMAKE_INSTALL_DATADIR}/correlator
	PATTERN correlator.service EXCLUDE)
# With the place of the binary that it starts, which is known only now.
install(CODE "
	file(READ \"${CMAKE_SOURCE_DIR}/fixtures/collectors/correlator.service\" unit)
	string(REPLACE /usr/local/bin \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\" unit \"\${unit}\")
	file(WRITE \"${CMAKE_BINARY_DIR}/correlator.service\" \"\${unit}\")")
install(FILES ${CMAKE_BINARY_DIR}/correlator.service DESTINATION lib/systemd/system)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
file(GLOB documents CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} *.md */README.md correlator/*/README.md
						fixtures/*/README.md tests/*/README.md)
foreach(document ${documents})
	get_filename_component(folder ${document} DIRECTORY)
	install(FILES ${CMAKE_SOURCE_DIR}/${document} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder})
endforeach()
