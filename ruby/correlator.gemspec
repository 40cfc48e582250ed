# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require_relative "lib/correlator/version"

Gem::Specification.new do |spec|
  spec.name = "correlator"
  spec.version = Correlator::VERSION
  spec.summary = "Tells an observer outside the process which request a thread works for."
  spec.description = <<~TEXT
    Publishes which request or job each thread and fiber of a Ruby process works for, in a variable
    that the tool correlator reads from outside, to charge CPU, run-queue and blocked time to it.
    Integrations for Rack, Rails, Sinatra, Grape, Sidekiq, ActiveJob, Delayed Job, gRPC,
    concurrent-ruby and OpenTelemetry. By itself it changes no class of Ruby or of a framework.
    Files that are loaded by name do, where there is no hook: those for Rails, Sinatra,
    concurrent-ruby and Thread add modules to some of their classes.
  TEXT
  spec.license = "MIT"
  spec.authors = ["The Correlator authors"]
  # Where it is published is known to who publishes it: CORRELATOR_HOMEPAGE=... gem build --strict
  spec.homepage = ENV["CORRELATOR_HOMEPAGE"] if ENV["CORRELATOR_HOMEPAGE"]
  spec.metadata = { "rubygems_mfa_required" => "true" }
  spec.required_ruby_version = ">= 2.7"
  spec.required_rubygems_version = ">= 3.1"
  spec.files = Dir.chdir(__dir__) do
    Dir["lib/**/*.rb", "ext/**/*.{c,h,rb}", "sig/*.rbs", "*.md", "LICENSE"]
  end
  spec.extra_rdoc_files = ["README.md", "CHANGELOG.md"]
  spec.extensions = ["ext/correlator/extconf.rb", "ext/upstream_threads/extconf.rb"]
  spec.require_paths = ["lib"]
end
