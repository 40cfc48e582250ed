# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "logger"
require "minitest/autorun"
require "correlator"
require "published"

# Delayed Job's own worker on a database in memory.
class DelayedJobTest < Minitest::Test
  begin
    verbose, $VERBOSE = $VERBOSE, nil
    require "active_record"
    require "active_job"
    require "sqlite3"
    require "delayed_job_active_record"
    $VERBOSE = verbose
    require "correlator/delayed_job"
    HAS_DELAYED_JOB = true
  rescue LoadError
    $VERBOSE = verbose
    HAS_DELAYED_JOB = false
  end

  SEEN = []

  def self.look
    SEEN << [Published[:request_id], Correlator.current]
  end

  class MailJob
    def initialize(fail = nil)
      @fail = fail
    end

    def perform
      DelayedJobTest.look
      raise "no" if @fail
    end

    def display_name
      "to somebody@example.org"
    end
  end

  class Report
    def build(_)
      DelayedJobTest.look
    end
  end

  if HAS_DELAYED_JOB
    class ReportJob < ActiveJob::Base
      include Correlator::ActiveJob

      def perform
        DelayedJobTest.look
      end
    end

    ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
    ActiveRecord::Schema.verbose = false
    ActiveRecord::Schema.define do
      create_table :delayed_jobs do |table|
        table.integer :priority, default: 0, null: false
        table.integer :attempts, default: 0, null: false
        table.text :handler, null: false
        table.text :last_error
        table.datetime :run_at
        table.datetime :locked_at
        table.datetime :failed_at
        table.string :locked_by
        table.string :queue
        table.timestamps null: true
      end
    end
    Delayed::Worker.plugins << Correlator::DelayedJob
    Delayed::Worker.logger = nil
    ActiveJob::Base.logger = nil
    ActiveJob::Base.queue_adapter = :delayed_job
  end

  def setup
    skip "no Delayed Job" unless HAS_DELAYED_JOB
    SEEN.clear
    Delayed::Job.delete_all
  end

  def work_off
    Delayed::Worker.new.work_off
    assert_equal 0, Published.address
    SEEN.map do |published, current|
      assert_equal published, current[:request_id]
      current
    end
  end

  def test_a_job_runs_in_a_context_of_its_own
    job = Correlator.with(request_id: "r1") { Delayed::Job.enqueue(MailJob.new, queue: "mail") }
    expected = { request_id: job.id.to_s, endpoint: "DelayedJobTest::MailJob", queue: "mail" }
    assert_equal [expected], work_off
  end

  def test_a_method_that_is_delayed
    Report.new.delay.build(1)
    assert_equal ["DelayedJobTest::Report#build"], work_off.map { |context| context[:endpoint] }
  end

  def test_a_job_that_fails_is_tried_again_with_its_id
    job = Delayed::Job.enqueue(MailJob.new(true))
    work_off
    job.reload.update!(run_at: Time.now - 1)
    assert_equal [job.id.to_s] * 2, work_off.map { |context| context[:request_id] }
  end

  def test_a_job_of_active_job_has_one_context
    Correlator.with(request_id: "r1") { ReportJob.perform_later }
    context = work_off.fetch(0)
    assert_equal ["DelayedJobTest::ReportJob", "r1"],
                 context.values_at(:endpoint, :parent_request_id)
  end

  def test_a_job_that_cannot_be_loaded_fails_as_ever
    Delayed::Job.enqueue(MailJob.new).update!(handler: "--- !ruby/object:NoSuchJob {}\n")
    assert_empty work_off
    assert_equal 0, Delayed::Job.count
  end
end
