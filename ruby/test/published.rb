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

  # The ID of a Symbol that has been a key. Immediate Symbols hold it; that of others, which %i[] for
  # one makes, is the last member of struct RSymbol (symbol.h), after RBasic, hashval and fstr.
  def id(symbol)
    value = Fiddle.dlwrap(symbol)
    (value & 0xff) == 0xc ? value >> 8 : word(value + 4 * WORD)
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
