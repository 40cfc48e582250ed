# SPDX-License-Identifier: MIT
# frozen_string_literal: true

# The parts of Sidekiq and ActiveJob that run jobs: the real ones where they are installed, else
# stand-ins that call in the same order with the same arguments.
require "json"
require "securerandom"

begin
  require "sidekiq"
rescue LoadError
  module Sidekiq
    module Middleware
      class Chain
        def initialize
          @classes = []
        end

        def add(middleware)
          @classes << middleware
        end

        def invoke(*arguments, &job)
          chain = @classes.map(&:new)
          traverse = proc { chain.empty? ? job.call : chain.shift.call(*arguments, &traverse) }
          traverse.call
        end
      end
    end
  end
end

begin
  require "active_job"
  ActiveJob::Base.logger = nil
  ActiveJob::Base.queue_adapter = :inline
rescue LoadError
  module ActiveJob
    class Base
      attr_accessor :job_id, :provider_job_id, :queue_name, :arguments

      def self.execute(job_data)
        job = Object.const_get(job_data["job_class"]).new
        job.deserialize(job_data)
        job.perform_now
      end

      def self.perform_later(*arguments)
        execute(JSON.parse(JSON.generate(new(*arguments).serialize)))
      end

      def self.perform_now(*arguments)
        new(*arguments).perform_now
      end

      def initialize(*arguments)
        @arguments = arguments
        @job_id = SecureRandom.uuid
        @queue_name = "default"
      end

      def serialize
        { "job_class" => self.class.name, "job_id" => job_id, "queue_name" => queue_name,
          "provider_job_id" => provider_job_id, "arguments" => arguments }
      end

      def deserialize(job_data)
        self.job_id = job_data["job_id"]
        self.provider_job_id = job_data["provider_job_id"]
        self.queue_name = job_data["queue_name"]
        self.arguments = job_data["arguments"]
      end

      def perform_now
        perform(*arguments)
      end
    end
  end
end
