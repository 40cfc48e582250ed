# SPDX-License-Identifier: GPL-2.0-only
# frozen_string_literal: true

# Behind another machine's rbconfig.rb: what mkmf makes is compiled for that machine, below whose
# tree's /usr that file lies. This machine's own rbconfig.rb is not loaded any more.
$LOADED_FEATURES << "rbconfig.rb"
sysroot = File.dirname(RbConfig::TOPDIR)
[RbConfig::CONFIG, RbConfig::MAKEFILE_CONFIG].each do |config|
  config["CC"] = "#{config['CC']} --sysroot=#{sysroot}"
end
