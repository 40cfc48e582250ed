# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require_relative "lib/correlator/version"

Gem::Specification.new do |spec|
  spec.name = "correlator"
  spec.version = Correlator::VERSION
  spec.summary = "Tells an observer outside the process which request a thread works for."
  spec.license = "MIT"
  spec.authors = ["The Correlator authors"]
  spec.required_ruby_version = ">= 2.7"
  spec.files = Dir.chdir(__dir__) { Dir["lib/**/*.rb", "ext/**/*.{c,h,rb}", "README.md", "LICENSE"] }
  spec.extensions = ["ext/correlator/extconf.rb", "ext/upstream_threads/extconf.rb"]
  spec.require_paths = ["lib"]
end
