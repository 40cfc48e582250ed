# SPDX-License-Identifier: MIT
# frozen_string_literal: true

module Correlator
  VERSION = "0.1.0"
end
