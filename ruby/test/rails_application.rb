# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "logger"

# What applications of Rails that are made for a test have in common.
module RailsApplication
  def self.configure(config)
    config.eager_load = false
    config.secret_key_base = "not secret"
    config.logger = Logger.new(nil)
    config.hosts = nil if config.respond_to?(:hosts)
  end
end
