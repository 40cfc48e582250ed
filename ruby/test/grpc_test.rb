# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "correlator"
require "published"

# A real server and stub of gRPC over a local port.
class GRPCTest < Minitest::Test
  begin
    require "grpc"
    HAS_GRPC = true
  rescue LoadError
    HAS_GRPC = false
  end

  TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"

  if HAS_GRPC
    Message = Struct.new(:value) do
      def self.dump(message)
        Marshal.dump(message.value)
      end

      def self.load(bytes)
        new(Marshal.load(bytes))
      end
    end

    class EchoService
      include GRPC::GenericService

      self.marshal_class_method = :dump
      self.unmarshal_class_method = :load
      self.service_name = "test.Echo"
      rpc :SayOnce, Message, Message
      rpc :SayMany, Message, stream(Message)
      rpc :HearMany, stream(Message), Message
      rpc :Talk, stream(Message), stream(Message)
    end

    class Echo < EchoService
      def say_once(request, _)
        raise GRPC::NotFound if request.value == "fail"

        look
      end

      # What is streamed is computed when it is sent.
      def say_many(_, _)
        Enumerator.new { |replies| 2.times { replies << look } }
      end

      def hear_many(call)
        seen = [look.value]
        call.each_remote_read { seen << look.value }
        Message.new(seen)
      end

      def talk(requests, _)
        requests.lazy.map { look }
      end

      private

      def look
        Message.new([Published[:request_id], Correlator.current])
      end
    end
  end

  # A call is refused while none is free, and one that has answered may not have returned yet.
  SERVER_THREADS = 8

  class << self
    # One server for all tests: it is slow to stop.
    def host
      @host ||= begin
        server = GRPC::RpcServer.new(pool_size: SERVER_THREADS, interceptors: [Correlator::GRPC::Server.new])
        port = server.add_http2_port("127.0.0.1:0", :this_port_is_insecure)
        server.handle(Echo.new)
        thread = Thread.new { server.run }
        server.wait_till_running
        Minitest.after_run { server.stop && thread.join }
        "127.0.0.1:#{port}"
      end
    end
  end

  def setup
    skip "no gRPC" unless HAS_GRPC
  end

  def stub(interceptors: [Correlator::GRPC::Client.new])
    EchoService.rpc_stub_class.new(self.class.host, :this_channel_is_insecure,
                                   interceptors: interceptors)
  end

  def context(seen)
    published, current = seen
    assert_equal published, current[:request_id]
    current
  end

  def say_once(text, through: stub, **options)
    context(through.say_once(Message.new(text), **options).value)
  end

  def test_a_call_has_a_context_of_its_own_and_knows_who_called
    pairs = Correlator.with(request_id: "r1", trace_id: TRACE_ID) { say_once("hello") }
    assert_match(/\A\h{8}-/, pairs.delete(:request_id))
    assert_equal({ endpoint: "test.Echo/SayOnce", trace_id: TRACE_ID, parent_request_id: "r1" },
                 pairs)
  end

  def test_streams_belong_to_the_call
    messages = %w[a b].map { |text| Message.new(text) }
    many = stub.say_many(Message.new("hello")).map { |reply| context(reply.value) }
    assert_equal 2, many.size
    assert_equal 1, many.uniq.size
    heard = stub.hear_many(messages).value.map { |reply| context(reply) }
    assert_equal 3, heard.size
    assert_equal 1, heard.uniq.size
    talk = stub.talk(messages).map { |reply| context(reply.value) }
    assert_equal ["test.Echo/Talk"], talk.map { |pairs| pairs[:endpoint] }.uniq
    assert_equal 1, talk.uniq.size
  end

  def test_the_given_ids_are_used
    metadata = { "x-request-id" => "given", "traceparent" => "00-#{TRACE_ID}-#{"1" * 16}-01" }
    pairs = say_once("hello", through: stub(interceptors: []), metadata: metadata)
    assert_equal ["given", TRACE_ID], pairs.values_at(:request_id, :trace_id)
    refute_includes pairs, :parent_request_id
  end

  def test_a_call_that_fails_leaves_nothing_in_the_servers_threads
    (2 * SERVER_THREADS).times { assert_raises(GRPC::NotFound) { say_once("fail") } }
    (2 * SERVER_THREADS).times { refute_includes say_once("hello"), :parent_request_id }
  end

  def test_metadata_that_the_application_uses_again_never_names_another_caller
    metadata = {}
    Correlator.with(request_id: "r1") { say_once("hello", metadata: metadata) }
    assert_equal "r1", metadata["correlator-parent-request-id"]
    refute_includes say_once("hello", metadata: metadata), :parent_request_id
  end

  def test_what_metadata_cannot_carry_does_not_break_the_call
    ["\xff", "a b\n", Object.new, "x" * 129, nil].each do |odd|
      pairs = Correlator.with(request_id: odd, trace_id: odd) do
        say_once("hello", metadata: {}.freeze)
        say_once("hello")
      end
      assert_equal %i[request_id endpoint], pairs.keys
    end
  end
end
