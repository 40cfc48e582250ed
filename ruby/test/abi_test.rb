# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "rbconfig"
require "tmpdir"

# What an observer finds beyond the shared ABI, read from another process: tags in front of states,
# and what is known of threads.
class AbiTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)

  # Tells addresses; waits for a line after each.
  TARGET = <<~'RUBY'
    require "correlator"
    require "fiddle"
    require "published"

    $stdout.sync = true
    library = Fiddle::Handle.new($LOADED_FEATURES.grep(%r{/correlator/correlator\.so}).first)
    tell = lambda do
      puts [library["correlator_state_header"], Published.address, library["ruby_profiler_state"],
            library["correlator_thread"], library["correlator_changes"]].join(" ")
      exit if $stdin.gets.nil?
    end
    tell.call
    3.times { |number| Correlator.with(request_id: number) { tell.call } }
    GC.start
    Thread.new { Correlator.with(request_id: "thread") { tell.call } }.join
    tell.call
    Thread.new { Correlator.with(request_id: "later") { tell.call } }.join
    fork { Correlator.with(request_id: "child") { tell.call } }
    Process.wait
  RUBY

  View = Struct.new(:header, :state, :variable, :thread_variable, :changes_variable)

  def with_target
    paths = $LOAD_PATH.flat_map { |path| ["-I", path] }
    IO.popen([RbConfig.ruby, *paths, "-e", TARGET], "r+") do |target|
      @memory = File.open("/proc/#{target.pid}/mem", "rb")
      yield target
    end
  rescue Errno::EACCES
    skip "may not read the memory of another process here"
  end

  # The addresses that the target tells; it waits meanwhile.
  def view(target)
    View.new(*target.gets.split.map { |address| Integer(address) })
  end

  def go_on(target)
    target.puts
  end

  def words(address, count)
    @memory.pread(8 * count, address).unpack("Q#{count}")
  end

  def tag_of(view)
    version_and_flags, magic = words(view.header, 2)
    assert_equal 1, version_and_flags
    check, serial, size, capacity = words(view.state - 16, 4)
    assert_equal [serial ^ view.state ^ magic, 1, 2], [check, size, capacity]
    serial
  end

  def thread_of(view)
    pointer, = words(view.thread_variable, 1)
    pointer.zero? ? nil : words(pointer, 9)
  end

  def changes_of(view)
    words(view.changes_variable, 1).first
  end

  # Each block begins with one and ends with another; one inside of it, that ends by itself, too.
  def test_changes_are_counted_beside_the_variable
    with_target do |target|
      before = view(target)
      assert_includes [8, 16], (before.changes_variable - before.variable).abs
      assert_equal 0, changes_of(before)
      go_on(target)
      counts = Array.new(3) { changes_of(view(target)).tap { go_on(target) } }
      assert_equal [1, 3, 5], counts
      assert_equal 1, changes_of(view(target)) # of a new thread
      go_on(target)
      assert_equal 6, changes_of(view(target))
    end
  end

  def test_an_observer_finds_states_again_and_knows_threads
    with_target do |target|
      before = view(target)
      assert_equal [0, nil], [before.state, thread_of(before)]
      assert_equal 8, (before.thread_variable - before.variable).abs
      go_on(target)
      states = Array.new(3) { view(target).tap { |seen| check_state(target, seen) } }
      assert_equal [1, 2, 3], states.map { |seen| @serials[seen] }
      other = view(target)
      check_state(target, other)
      assert_operator @serials[other], :>, 3
      refute_equal @threads[states.first], @threads[other]
      after = view(target)
      assert_equal [0, @threads[states.first]], [after.state, thread_of(after)]
      go_on(target)
      later = view(target)
      check_state(target, later)
      assert_equal 3, [states.first, other, later].map { |seen| @threads[seen] }.uniq.size
    end
  end

  def check_state(target, seen)
    (@serials ||= {}.compare_by_identity)[seen] = tag_of(seen)
    (@threads ||= {}.compare_by_identity)[seen] = thread = thread_of(seen)
    version, flags = [thread[0] & 0xffffffff, thread[0] >> 32]
    assert_equal [1, 0, [0] * 7], [version, flags, thread.drop(2)]
    assert_operator thread[1], :>, 0
    go_on(target)
  end

  # The table of a state is emptied of its tag before it is given back.
  def test_a_tag_does_not_outlive_its_state
    script = <<~'RUBY'
      require "correlator"
      require "fiddle"
      require "published"

      MAGIC = Fiddle::Pointer.new(Fiddle::Handle.new(
        $LOADED_FEATURES.grep(%r{/correlator/correlator\.so}).first
      )["correlator_state_header"])[8, 8].unpack1("Q")
      seen = Array.new(2000) do |number|
        address = Correlator.with(request_id: number) { Published.address }
        [address, Fiddle::Pointer.new(address - 16)[0, 16].unpack("Q2")]
      end
      exit 1 unless seen.all? { |address, (check, serial)| check == serial ^ address ^ MAGIC }
      exit 2 unless seen.map { |_, (_, serial)| serial }.uniq.size == seen.size
      5.times { GC.start }
      live = ObjectSpace.each_object(Correlator::State).count
      valid = seen.uniq(&:first).count do |address, _|
        check, serial = Fiddle::Pointer.new(address - 16)[0, 16].unpack("Q2")
        check == serial ^ address ^ MAGIC
      end
      abort "#{valid} tags, #{live} states" if valid > live
    RUBY
    paths = $LOAD_PATH.flat_map { |path| ["-I", path] }
    output = IO.popen([RbConfig.ruby, *paths, "-e", script], err: %i[child out], &:read)
    assert_predicate $?, :success?, output
  end

  # The gem is a package of its own and can include no file of the observer's.
  def test_the_observer_describes_the_same
    source = <<~'C'
      #include "correlator_state.h"
      #include <correlator/gem_abi.h>

      #define SAME(ours, theirs, field)                                                \
        _Static_assert(offsetof(struct ours, field) == offsetof(struct theirs, field) && \
                       sizeof(((struct ours *)0)->field) == sizeof(((struct theirs *)0)->field), #field)

      SAME(correlator_state_header, gem_header, version);
      SAME(correlator_state_header, gem_header, flags);
      SAME(correlator_state_header, gem_header, magic);
      SAME(correlator_state_tag, gem_state_tag, check);
      SAME(correlator_state_tag, gem_state_tag, serial);
      SAME(correlator_thread, gem_thread, version);
      SAME(correlator_thread, gem_thread, flags);
      SAME(correlator_thread, gem_thread, serial);
      SAME(correlator_thread, gem_thread, ready_ns);
      SAME(correlator_thread, gem_thread, wait_ns);
      SAME(correlator_thread, gem_thread, waits);
      SAME(correlator_thread, gem_thread, gc_enters);
      SAME(correlator_thread, gem_thread, gc_exits);
      SAME(correlator_thread, gem_thread, gc_time);
      SAME(correlator_thread, gem_thread, gc_runs);
      SAME(correlator_watch, gem_watch, version);
      SAME(correlator_watch, gem_watch, flags);
      _Static_assert((int)CORRELATOR_THREAD_COUNTS_GVL == (int)GEM_THREAD_COUNTS_GVL, "flag");
      _Static_assert((int)CORRELATOR_THREAD_COUNTS_GC == (int)GEM_THREAD_COUNTS_GC, "flag");
      _Static_assert((int)CORRELATOR_THREAD_TIMES_GC == (int)GEM_THREAD_TIMES_GC, "flag");
    C
    headers = RbConfig::CONFIG.values_at("rubyhdrdir", "rubyarchhdrdir")
    folders = ["#{ROOT}/ruby/ext/correlator", "#{ROOT}/include", *headers]
    Dir.mktmpdir do |folder|
      File.write("#{folder}/same.c", source)
      output = IO.popen(["cc", "-std=gnu11", "-fsyntax-only", *folders.flat_map { |path| ["-I", path] },
                         "#{folder}/same.c"], err: %i[child out], &:read)
      assert_predicate $?, :success?, output
    end
  end
end
