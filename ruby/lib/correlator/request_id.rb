# SPDX-License-Identifier: MIT
# frozen_string_literal: true

module Correlator
  # Gives each request of this process an id of its own: the client's, cleaned as Rails cleans it,
  # or a fresh UUID. An id that was given before, and not long ago, gets a number: "r-1", "r-1#2",
  # so that no two requests are taken for one. No id of a client has a "#".
  class RequestId # :nodoc: all
    # Where the Rack environment keeps the client's.
    HEADER = "HTTP_X_REQUEST_ID"
    # What an observer captures of a value (VALUE_BYTES_MAX of Correlator): of two ids that differ
    # behind that, it would make one.
    BYTES_MAX = 128
    # Leaves room for a number behind it.
    NUMBERED_BYTES_MAX = 112
    # Of the ids given last, between one and two times as many are known.
    RECENT = 4096
    UUIDS_AT_ONCE = 64

    CLEAN = /\A[\w\-@]{1,#{BYTES_MAX}}\z/n
    UNCLEAN = /[^\w\-@]/n
    UUID_BYTES = 36
    DASHES = [8, 13, 18, 23].freeze
    DASH = "-".ord
    VERSION = "4".ord
    VARIANTS = "89ab".bytes.freeze
    private_constant :CLEAN, :UNCLEAN, :UUID_BYTES, :DASHES, :DASH, :VERSION, :VARIANTS

    # Of a header: nil if that has no usable character.
    def self.clean(given)
      return unless given.is_a?(String)
      # Copied, because the application may change its header.
      return (given + "").freeze if given.ascii_only? && given.match?(CLEAN)

      cleaned = given.b.gsub(UNCLEAN, "").byteslice(0, BYTES_MAX)
      cleaned.force_encoding(Encoding::UTF_8).freeze unless cleaned.empty?
    end

    def initialize
      @lock = Mutex.new
      @recent = {}
      @before = {}
      @random = nil
      @used = UUIDS_AT_ONCE
      @pid = nil
    end

    def fresh
      pid = Process.pid
      @lock.synchronize do
        # A forked process would hand out what its parent does.
        refill(pid) if @used == UUIDS_AT_ONCE || pid != @pid
        id = uuid(@used)
        @used += 1
        note(id, 1)
      end
    end

    def distinct(id)
      @lock.synchronize { @recent[id] || @before[id] ? numbered(id) : note(id, 1) }
    end

    private

    def note(id, times)
      @recent[id] = times
      if @recent.size == RECENT
        @before = @recent
        @recent = {}
      end
      id
    end

    def numbered(id)
      id = id.byteslice(0, NUMBERED_BYTES_MAX).freeze if id.bytesize > NUMBERED_BYTES_MAX
      times = (@recent[id] || @before[id] || 0) + 1
      note(id, times)
      "#{id}##{times}".freeze
    end

    # The kernel's random bytes; many at once, as asking costs the most.
    def refill(pid)
      @random = Random.urandom(UUID_BYTES / 2 * UUIDS_AT_ONCE).unpack1("H*")
      @used = 0
      @pid = pid
    end

    # RFC 9562, version 4.
    def uuid(number)
      id = @random.byteslice(UUID_BYTES * number, UUID_BYTES)
      DASHES.each { |place| id.setbyte(place, DASH) }
      id.setbyte(14, VERSION)
      id.setbyte(19, VARIANTS[id.getbyte(19) % 4])
      id.freeze
    end
  end
  private_constant :RequestId
end
