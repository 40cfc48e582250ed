# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "fiber"
require "minitest/autorun"
require "rbconfig"
require "collector"
require "correlator"
require "published"
require "onlooker"

# At any instant, whatever the collector is at, what can be read of a thread is complete, alive and
# where the table says that it is: by a signal handler on it, and by a thread beside it.
class ObserverTest < Minitest::Test
  INTERVAL_US = 100
  READINGS = 3000

  Onlooker.open(Published.extension)

  def setup
    Onlooker.forget
    Onlooker.watch(INTERVAL_US)
    @before = Onlooker.counts
  end

  def teardown
    GC.stress = false
    Collector.compact_by_itself(false)
    Correlator.clear
    Onlooker.unwatch
  end

  def readings
    now = Onlooker.counts
    now.to_h { |kind, count| [kind, count - @before[kind]] }
  end

  def pairs(number)
    %i[request_id endpoint user].to_h do |key|
      [key, Onlooker.prove("#{key} #{number} #{"x" * (number % 60)}")]
    end
  end

  # Until so many tables were read, or barred for so long that this would say nothing.
  def read_while
    number = 0
    yield(number += 1) while readings[:within_whole] < READINGS
    assert_empty Onlooker.violations
    assert_equal 0, readings[:within_wrong] + readings[:beside_wrong]
  end

  # Contexts come and go, in fibers, too.
  def use(number)
    Correlator.with(**pairs(number)) do
      Fiber.new { Correlator.with(step: number) { Fiber.yield } }.resume
      Correlator.set(**pairs(number + 1))
      yield
      Fiber.new { yield }.resume
    end
  end

  def test_while_contexts_come_and_go
    read_while { |number| use(number) { nil } }
  end

  def test_under_gc_stress
    read_while do |number|
      GC.stress = (number % 2).zero? ? true : 1
      use(number) { Object.new }
      GC.stress = false
    end
  end

  def test_while_heaps_are_compacted
    skip "no compaction" unless Collector.compacts?
    read_while do |number|
      fragments = Array.new(2000) { |one| "fragment #{one}" }
      use(number) do
        fragments.select!.with_index { |_, index| (index % 7).zero? }
        GC.compact
      end
    end
  end

  def test_while_heaps_are_compacted_by_themselves
    skip "no automatic compaction" unless Collector.compacts_by_itself?
    Collector.compact_by_itself(true)
    read_while { |number| use(number) { GC.start } }
  end

  def test_while_pages_are_swept_one_by_one
    live = Array.new(50_000) { |number| "live object number #{number}, too long to be embedded" }
    live.select!.with_index { |_, number| (number % 10).positive? }
    read_while do |number|
      use(number) do
        GC.start(immediate_sweep: false)
        Array.new(100) { |one| "junk #{one}" }
      end
    end
    assert_equal 45_000, live.size
  end

  def test_a_thread_beside_reads_the_same
    skip "tables have no serial numbers" unless Onlooker.beside?
    number = 0
    while readings[:beside_whole] < READINGS
      use(number += 1) { GC.start(full_mark: false) if (number % 50).zero? }
    end
    assert_empty Onlooker.violations
  end

  # So that what is not seen means something.
  def test_what_is_wrong_is_seen
    script = <<~'RUBY'
      require "correlator"
      require "published"
      require "onlooker"
      Onlooker.open(Published.extension)
      Onlooker.watch(100)
      Correlator.with(request_id: "without a proof") { nil while Onlooker.violations.empty? }
      print Onlooker.violations.first
    RUBY
    paths = $LOAD_PATH.flat_map { |path| ["-I", path] }
    output = IO.popen([RbConfig.ruby, *paths, "-e", script], err: %i[child out], &:read)
    assert_match(/\Athe text is not what was published.*without a proof/, output)
  end
end
