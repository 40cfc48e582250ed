# SPDX-License-Identifier: MIT
# frozen_string_literal: true

module Correlator
  # Methods of ours in the place of others, which they call. They are not prepended: where another gem
  # renames such a method and calls it from its own (alias_method), super would lead back to that one,
  # and so on for ever. What has a name of its own leads nowhere else, whoever comes before or after.
  module Wrap # :nodoc: all
    class << self
      # The block defines owner's method anew, and may call the former one by the name of kept. Once.
      def replace(owner, name, kept, &definition)
        return if owner.private_instance_methods(false).include?(kept)

        keep(owner, name, kept) && owner.class_exec(&definition)
      end

      private

      # The one below all that was prepended to owner; false: there is none.
      def keep(owner, name, kept)
        method = owner.instance_method(name)
        prepended = owner.ancestors.take_while { |one| !one.equal?(owner) }
        method = method.super_method while method && prepended.include?(method.owner)
        return false unless method

        owner.class_exec do
          define_method(kept, method)
          private kept
          # Of a method that has two names none is warned to be lost.
          alias_method name, name if prepended.empty?
        end
        true
      end
    end
  end

  private_constant :Wrap
end
