# SPDX-License-Identifier: MIT
# frozen_string_literal: true

module Correlator
  # Methods of ours in the place of others, which they call. They are not prepended: where another gem
  # renames such a method and calls it from its own (alias_method), super would lead back to that one,
  # and so on for ever. What has a name of its own leads nowhere else, whoever comes before or after.
  module Wrap # :nodoc: all
    # Keeps a method of owner under another name: the one below all that was prepended to owner. It
    # may be defined anew then.
    def self.keep(owner, name, kept)
      method = owner.instance_method(name)
      prepended = owner.ancestors.take_while { |one| !one.equal?(owner) }
      method = method.super_method while prepended.include?(method.owner)
      owner.class_exec do
        define_method(kept, method)
        private kept
        # Of a method that has two names none is warned to be lost.
        alias_method name, name if prepended.empty?
      end
    end
  end

  private_constant :Wrap
end
