# frozen_string_literal: true

require "fiddle"

# What an observer would read of the calling thread: the thread-local, its table, and the pairs by
# the ABI (key & (capacity - 1), then linear probing).
module Published
  WORD = Fiddle::SIZEOF_VOIDP

  module_function

  def object_file
    objects = ["/correlator/correlator.so", "/profiler_stand_in.so"]
    $LOADED_FEATURES.find { |path| path.end_with?(*objects) }
  end

  def handle
    @handle ||= Fiddle::Handle.new(object_file)
  end

  def word(address)
    Fiddle::Pointer.new(address)[0, WORD].unpack1("J")
  end

  def address
    word(handle["ruby_profiler_state"])
  end

  def size
    word(address)
  end

  def capacity
    word(address + WORD)
  end

  # %i[] makes Symbols that are no immediates, so Ruby has to tell the ID.
  def id(symbol)
    @sym2id ||= Fiddle::Function.new(Fiddle::Handle::DEFAULT["rb_sym2id"], [Fiddle::TYPE_UINTPTR_T],
                                     Fiddle::TYPE_UINTPTR_T, need_gvl: true)
    @sym2id.call(Fiddle.dlwrap(symbol))
  end

  # nil without a context or key
  def [](symbol)
    return nil if address.zero?

    key = id(symbol)
    capacity.times do |probe|
      pair = address + 2 * WORD + ((key + probe) & (capacity - 1)) * 2 * WORD
      return nil if word(pair).zero?
      return Fiddle.dlunwrap(word(pair + WORD)) if word(pair) == key
    end
    nil
  end
end
