# SPDX-License-Identifier: MIT
# frozen_string_literal: true

module Correlator
  # Of the gem.
  VERSION = "0.1.0"
end
