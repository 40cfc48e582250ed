# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "correlator/wrap"

module Correlator
  class Railtie
    # A query of load_async (Rails 7.0+) runs in a thread of a pool: it works for the request that
    # asked for it.
    module LoadAsync # :nodoc: all
      def self.install
        return unless defined?(::ActiveRecord::FutureResult)

        result = ::ActiveRecord::FutureResult
        hooked = %i[schedule! execute_or_skip].all? { |name| result.method_defined?(name) }
        hook(result) if hooked
      end

      def self.hook(result)
        Wrap.replace(result, :schedule!, :__correlator_schedule!) do
          def schedule!(*arguments)
            @correlator_state = Correlator.capture
            __correlator_schedule!(*arguments)
          end
        end
        Wrap.replace(result, :execute_or_skip, :__correlator_execute_or_skip) do
          def execute_or_skip
            Correlator.with(@correlator_state) { __correlator_execute_or_skip }
          end
        end
      end
      private_class_method :hook
    end
  end
end
