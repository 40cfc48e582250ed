# SPDX-License-Identifier: MIT
# frozen_string_literal: true

module Correlator
  class Railtie
    # A query of load_async (Rails 7.0+) runs in a thread of a pool: it works for the request that
    # asked for it.
    module LoadAsync # :nodoc: all
      def self.install
        return unless defined?(::ActiveRecord::FutureResult)

        result = ::ActiveRecord::FutureResult
        hooked = %i[schedule! execute_or_skip].all? { |name| result.method_defined?(name) }
        result.prepend(self) if hooked
      end

      def schedule!(*)
        @correlator_state = Correlator.capture
        super
      end

      def execute_or_skip
        Correlator.with(@correlator_state) { super }
      end
    end
  end
end
