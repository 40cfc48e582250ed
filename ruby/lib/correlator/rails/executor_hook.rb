# SPDX-License-Identifier: MIT
# frozen_string_literal: true

module Correlator
  class Railtie
    # Of Rails' executor, which is around each unit of work: a request, a job, a channel's action, a
    # thread that the application wraps. It begins no context, but ends what was set within and not
    # ended there: nothing of it is left on a thread that began without.
    module ExecutorHook # :nodoc: all
      module_function

      def run
        Correlator.capture.nil?
      end

      def complete(began_without)
        Correlator.clear if began_without && Correlator.capture
      end
    end
  end
end
