# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "correlator/wrap"

module Correlator
  class Railtie
    # ActionController::Live runs the action in another thread (Rails 7.1+: of a pool): it works for
    # the request until it ends, which may be after the client has gone.
    module Live # :nodoc: all
      # Into controllers that include Live later, as all of the application's do.
      def self.install
        return unless defined?(::ActionController::Live)

        live = ::ActionController::Live
        hook(live) if live.private_method_defined?(:new_controller_thread)
      end

      def self.hook(live)
        Wrap.replace(live, :new_controller_thread, :__correlator_new_controller_thread) do
          private

          def new_controller_thread
            state = Correlator.capture
            __correlator_new_controller_thread { Correlator.with(state) { yield } }
          end
        end
      end
      private_class_method :hook
    end
  end
end
