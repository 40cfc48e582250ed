# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "json"
require "minitest/autorun"
require "socket"
require "correlator"
require "published"
require "rails_application"

# A real ActionCable server, and a client of it at the other end of a socket.
class RailsCableTest < Minitest::Test
  begin
    require "rails"
    require "action_controller/railtie"
    require "action_cable/engine"
    require "websocket/driver"
    HAS_CABLE = true
  rescue LoadError
    HAS_CABLE = false
  end

  SEEN = Queue.new

  def self.look(name)
    SEEN << [name, Published[:request_id], Correlator.current]
  end

  if HAS_CABLE
    require "correlator/rails"

    class Connection < ActionCable::Connection::Base
      def connect
        RailsCableTest.look(:connect)
      end
    end

    class ChatChannel < ActionCable::Channel::Base
      def subscribed
        stream_from("chat") { |_| RailsCableTest.look(:stream) }
        RailsCableTest.look(:subscribed)
      end

      def unsubscribed
        RailsCableTest.look(:unsubscribed)
      end

      def speak(_)
        RailsCableTest.look(:speak)
        transmit({ "said" => Correlator[:endpoint] })
      end

      def fail
        RailsCableTest.look(:fail)
        raise "no"
      end
    end

    class Application < Rails::Application
      RailsApplication.configure(config)
      config.action_cable.connection_class = -> { Connection }
      config.action_cable.cable = { "adapter" => "async" }
      config.action_cable.disable_request_forgery_protection = true
      config.action_cable.mount_path = "/cable"
    end
    Application.initialize!
  end

  # Speaks WebSocket over one end of a pair of sockets, as a browser would.
  class Client
    attr_reader :url

    def initialize(socket)
      @socket = socket
      @url = "ws://localhost/cable"
      @messages = []
      @driver = WebSocket::Driver.client(self)
      @driver.on(:message) { |event| @messages << JSON.parse(event.data) }
      @driver.start
    end

    def write(text)
      @socket.write(text)
    end

    def command(name, **data)
      identifier = JSON.generate(channel: ChatChannel.name)
      @driver.text(JSON.generate({ command: name, identifier: identifier }.merge(data)))
    end

    # The next message that is no ping.
    def await
      loop do
        message = @messages.shift
        @driver.parse(@socket.readpartial(4096)) unless message
        return message if message && message["type"] != "ping"
      end
    end

    def close
      @socket.close
    end
  end

  def setup
    skip "no ActionCable" unless HAS_CABLE
    SEEN.clear
  end

  def connect(id)
    mine, theirs = UNIXSocket.pair
    client = Client.new(mine)
    head = theirs.readpartial(4096)
    headers = head.scan(/^([\w-]+): (.*)\r$/).to_h do |name, value|
      ["HTTP_#{name.upcase.tr("-", "_")}", value]
    end
    env = Rack::MockRequest.env_for("http://localhost/cable", headers.merge(
      "HTTP_X_REQUEST_ID" => id, "rack.hijack?" => true,
      "rack.hijack" => -> { env["rack.hijack_io"] = theirs }
    ))
    Application.call(env)
    assert_equal 0, Published.address
    assert_equal "welcome", client.await["type"]
    client
  end

  # The next work of the connection that this request opened; another test's may be closing still.
  def seen(parent)
    loop do
      name, published, current = SEEN.pop
      assert_equal published, current[:request_id]
      return [name, current] if current[:parent_request_id] == parent
    end
  end

  def test_each_piece_of_work_of_a_connection_has_a_context_of_its_own
    client = connect("r1")
    client.command("subscribe")
    assert_equal "confirm_subscription", client.await["type"]
    client.command("message", data: JSON.generate(action: "speak"))
    assert_equal "RailsCableTest::ChatChannel#speak", client.await.dig("message", "said")
    client.command("unsubscribe")
    names, contexts = Array.new(4) { seen("r1") }.transpose
    assert_equal %i[connect subscribed speak unsubscribed], names
    assert_equal [nil, "RailsCableTest::ChatChannel#subscribed",
                  "RailsCableTest::ChatChannel#speak", "RailsCableTest::ChatChannel#unsubscribed"],
                 contexts.map { |context| context[:endpoint] }
    assert_equal 4, contexts.map { |context| context[:request_id] }.uniq.size
    client.close
  end

  def test_a_broadcast_from_a_request_belongs_to_the_connection_that_gets_it
    client = connect("r2")
    client.command("subscribe")
    client.await
    2.times { seen("r2") }
    Correlator.with(request_id: "broadcaster") { ActionCable.server.broadcast("chat", "hello") }
    name, context = seen("r2")
    assert_equal :stream, name
    refute_equal "broadcaster", context[:request_id]
    client.close
  end

  def test_what_raises_or_does_not_exist_leaves_nothing_on_the_worker
    client = connect("r3")
    client.command("subscribe")
    client.await
    client.command("message", data: JSON.generate(action: "fail"))
    client.command("message", data: JSON.generate(action: "no_such_action_#{"x" * 200}"))
    client.command("message", data: JSON.generate(["no hash"]))
    assert_equal %i[connect subscribed fail], Array.new(3) { seen("r3").first }
    assert_equal [0], idle_workers.uniq
    client.close
  end

  # What is published in the threads of the pool when they do nothing for a connection.
  def idle_workers
    pool = ActionCable.server.worker_pool.executor
    Thread.pass until pool.completed_task_count == pool.scheduled_task_count
    answers = Queue.new
    8.times { pool.post { answers << Published.address } }
    Array.new(8) { answers.pop }
  end
end
