# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "published_state"

# What an observer would read of the calling thread, in whichever extension publishes it.
module Published
  def self.extension
    $LOADED_FEATURES.find { |path| path.end_with?("/correlator/correlator.so") } ||
      $LOADED_FEATURES.find { |path| path.end_with?("/profiler_stand_in.so") }
  end
end

Published.open(Published.extension)
