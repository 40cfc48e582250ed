# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "correlator/wrap"

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
        note_origin(::ActionCable::Connection::Base)
        name_channels(::ActionCable::Channel::Base)
      end

      # Notes down the request while it lasts.
      def self.note_origin(connection)
        Wrap.replace(connection, :process, :__correlator_process) do
          def process
            @correlator_origin = Job.origin
            __correlator_process
          end
        end
      end

      def self.name_channels(channel)
        { perform_action: nil, subscribe_to_channel: "subscribed",
          unsubscribe_from_channel: "unsubscribed", transmit: "transmit" }.each do |name, word|
          kept = :"__correlator_#{name}"
          is_private = channel.private_method_defined?(name)
          Wrap.replace(channel, name, kept) do
            define_method(name) do |*arguments|
              action = word || Cable.action_of(self, *arguments)
              Cable.name_work("#{self.class.name}##{action}") if action
              __send__(kept, *arguments)
            end
            ruby2_keywords name
            private name if is_private
          end
        end
      end
      private_class_method :note_origin, :name_channels

      # The name comes from the client: only one of the channel's actions becomes an endpoint.
      def self.action_of(channel, data)
        action = data.is_a?(Hash) && (data["action"] || "receive").to_s
        action if action && channel.class.action_methods.include?(action)
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
    end
  end
end
