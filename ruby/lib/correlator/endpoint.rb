# SPDX-License-Identifier: MIT
# frozen_string_literal: true

module Correlator
  # The name of what a request asks for, with few different values: "GET /orders/:id".
  module Endpoint
    METHODS = %w[GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT].freeze
    OTHER_METHOD = "OTHER"
    # What an observer captures of a value (VALUE_BYTES_MAX of Correlator).
    BYTES_MAX = 128
    ID = ":id"

    UUID = /\A\h{8}-\h{4}-\h{4}-\h{4}-\h{12}\z/n
    NUMBER = /\A-?\d+(?:[.,]\d+)*\z/n
    HEXADECIMAL = /\A(?=\h*\d)\h{8,}\z/n
    # ULIDs, base 64 and the like.
    LONG_TOKEN = /\A(?=[^\d]*\d)[\w\-~=]{20,}\z/n
    EXTENSION = /\.[A-Za-z]\w{0,7}\z/n
    private_constant :UUID, :NUMBER, :HEXADECIMAL, :LONG_TOKEN, :EXTENSION

    module_function

    # Before the framework has routed the request there is no route yet; changing the name later
    # would split one request in two contexts.
    def for_request(env)
      route(env) || begin
        path = normalize("#{env["SCRIPT_NAME"]}#{env["PATH_INFO"]}")
        "#{request_method(env)} #{path}".byteslice(0, BYTES_MAX)
      end
    end

    # A path with its numbers and ids replaced; never raises, whatever the bytes.
    def normalize(path)
      path.b.byteslice(0, 8 * BYTES_MAX).split("/", -1).map { |segment| name(segment) }.join("/")
    end

    # Sinatra: "GET /orders/:id". Rails 7.1+: "/orders/:id(.:format)".
    def route(env)
      sinatra = env["sinatra.route"]
      return sinatra.byteslice(0, BYTES_MAX) if sinatra

      rails = env["action_dispatch.route_uri_pattern"]
      "#{request_method(env)} #{rails.delete_suffix("(.:format)")}".byteslice(0, BYTES_MAX) if rails
    end

    def request_method(env)
      method = env["REQUEST_METHOD"]
      METHODS.include?(method) ? method : OTHER_METHOD
    end

    def name(segment)
      return ID if id?(segment)

      extension = segment[EXTENSION]
      extension && id?(segment.delete_suffix(extension)) ? "#{ID}#{extension}" : segment
    end

    def id?(segment)
      return false unless segment.match?(/\d/n)

      segment.match?(NUMBER) || segment.match?(UUID) || segment.match?(HEXADECIMAL) ||
        segment.match?(LONG_TOKEN)
    end

    private_class_method :route, :request_method, :name, :id?
  end
end
