# SPDX-License-Identifier: MIT
# frozen_string_literal: true

# Where this process found the gem and what its tests need: RUBYLIB for another one.
OWN_FILES = %w[correlator.rb correlator/correlator.so published.rb published_state.so].freeze
OWN_LOAD_PATH = $LOAD_PATH.select do |folder|
  OWN_FILES.any? { |file| File.exist?("#{folder}/#{file}") }
end.map { |folder| File.expand_path(folder) }.join(":").freeze
