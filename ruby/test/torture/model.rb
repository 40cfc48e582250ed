# SPDX-License-Identifier: MIT
# frozen_string_literal: true

module Torture
  # What the README promises, as plainly as can be: what may be in force in a fiber. Where two
  # answers are right (an abandoned fiber lends until it has been collected) it allows both.

  # Pairs that were published together. An update adds a version, which borrowers may see.
  class Context
    attr_reader :versions

    def initialize(*versions)
      @versions = versions
      @is_kept = false
    end

    def update(pairs)
      @versions << pairs
    end

    # Captured: may be in force again elsewhere, when those who borrowed it may have it back.
    def keep
      @is_kept = true
    end

    def when_over
      @is_kept ? [nil, *versions] : [nil]
    end
  end

  # Where a fiber has set a context (nil: none), by a `with` or for the rest of the fiber.
  class Frame
    attr_reader :context, :replaced

    # replaced: what the fiber had here before it was wiped, which ends no later than the block that this is in.
    def initialize(fiber, context, replaced = nil)
      @fiber = fiber
      @context = context
      @replaced = replaced
      @is_over = false
      @is_wiped = false
    end

    def end
      end_alone
      @replaced&.end
    end

    # Another one takes its place. The gem no longer knows what this had replaced.
    def end_alone
      @is_over = true
    end

    # The application has removed what the fiber keeps it by.
    def wipe
      @is_wiped = true
    end

    def wiped?
      @is_wiped
    end

    # Whether the collector decides what it lends.
    def doubtful?
      @is_wiped || @fiber.gone?
    end

    # What one who borrows it may see.
    def lent
      return [nil] unless context
      return context.when_over if @is_over

      doubtful? ? [nil, *context.versions] : context.versions
    end
  end

  # A fiber, or the root of a thread (nobody resumes it).
  class FiberModel
    # What the other publisher has here; whether it may yield to who resumed it.
    attr_accessor :theirs, :can_pause

    def initialize(borrows: true)
      @borrows = borrows
      @borrowed = [nil]
      @frames = [nil]
      @is_gone = false
      @is_wiped = false
    end

    def resumed_first_by(other)
      @borrowed = other.lendable if @borrows
    end

    def enter(context)
      @frames.push(Frame.new(self, context))
    end

    def leave
      @frames.pop&.end
    end

    def set(context)
      before = @frames.pop
      is_known = before && !before.wiped?
      before.end_alone if is_known
      @frames.push(Frame.new(self, context, is_known ? before.replaced : before))
    end

    # Abandoned, or finished: until it has been collected, it may lend.
    def gone
      @is_gone = true
    end

    def gone?
      @is_gone
    end

    def wipe
      @is_wiped = true
      @frames.compact.each(&:wipe)
    end

    # The context in force, of those who may be it the likeliest.
    def context
      lendable.first&.context
    end

    # Frames that one who is resumed here first may borrow, nil for none.
    def lendable
      top = @frames.last
      return @is_wiped ? [*@borrowed, nil] : @borrowed unless top

      top.wiped? ? [top, *@borrowed, nil] : [top]
    end

    def doubtful?
      @is_wiped || lendable.any? { |frame| frame&.doubtful? }
    end

    # What may be in force here.
    def allowed
      top = @frames.last
      lendable.flat_map do |frame|
        next [nil] unless frame&.context

        frame.equal?(top) ? frame.context.versions : frame.lent
      end.uniq
    end
  end
end
