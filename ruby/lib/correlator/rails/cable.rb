# SPDX-License-Identifier: MIT
# frozen_string_literal: true

module Correlator
  class Railtie
    # ActionCable: a connection lives for hours, so each piece of work that the worker pool does for
    # it has a context of its own.
    #
    #   request_id         a fresh one
    #   parent_request_id  request_id of the request that opened the connection
    #   trace_id           of the same
    #   endpoint           "ChatChannel#speak": the action, subscribed, unsubscribed, or transmit
    #                      of what is broadcast; else the class of the connection
    module Cable # :nodoc: all
      def self.install
        return unless defined?(::ActionCable::Server::Worker)

        ::ActionCable::Server::Worker.set_callback(:work, :around, prepend: true) do |worker, work|
          Cable.around(worker.connection) { work.call }
        end
        ::ActionCable::Connection::Base.prepend(Connection)
        ::ActionCable::Channel::Base.prepend(Channel)
      end

      def self.around(connection)
        Job.run(origin: connection.instance_variable_get(:@correlator_origin)) do
          yield
        ensure
          name_work(connection.class.name)
        end
      end

      # One piece of work may go through several of these: the first one names it.
      def self.name_work(endpoint)
        return unless endpoint && Correlator[:endpoint].nil?

        Correlator.update(endpoint: endpoint.byteslice(0, Endpoint::BYTES_MAX))
      end

      # Notes down the request while it lasts.
      module Connection
        def process
          @correlator_origin = Job.origin
          super
        end
      end

      module Channel
        # The name comes from the client: only one of the channel's actions becomes an endpoint.
        def perform_action(data)
          action = data.is_a?(Hash) && (data["action"] || "receive").to_s
          known = action && self.class.action_methods.include?(action)
          Cable.name_work("#{self.class.name}##{action}") if known
          super
        end

        def subscribe_to_channel
          Cable.name_work("#{self.class.name}#subscribed")
          super
        end

        def unsubscribe_from_channel
          Cable.name_work("#{self.class.name}#unsubscribed")
          super
        end

        private

        ruby2_keywords def transmit(*arguments)
          Cable.name_work("#{self.class.name}#transmit")
          super(*arguments)
        end
      end
    end
  end
end
