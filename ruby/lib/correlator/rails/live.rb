# SPDX-License-Identifier: MIT
# frozen_string_literal: true

module Correlator
  class Railtie
    # ActionController::Live runs the action in another thread (Rails 7.1+: of a pool): it works for
    # the request until it ends, which may be after the client has gone.
    module Live # :nodoc: all
      # Into controllers that include Live later, as all of the application's do.
      def self.install
        return unless defined?(::ActionController::Live)

        live = ::ActionController::Live
        live.prepend(self) if live.private_method_defined?(:new_controller_thread)
      end

      private

      def new_controller_thread
        state = Correlator.capture
        super() { Correlator.with(state) { yield } }
      end
    end
  end
end
