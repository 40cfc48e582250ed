# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "correlator/endpoint_words"

module Correlator
  # The name of what a request asks for: "GET /orders/:id". It is the route where a router tells it,
  # and else the path, of which only known words are left: what a client makes up, a slug, an
  # address or a token, never becomes part of an endpoint. A process has no more than NAMES_MAX.
  #
  # A request gets one endpoint: the first that is published.
  module Endpoint
    # Where the Rack environment keeps the one that a router told.
    KEY = "correlator.endpoint"
    # What an observer captures of a value (VALUE_BYTES_MAX of Correlator).
    BYTES_MAX = 128
    NAMES_MAX = 1000
    OTHER = "(other)"
    ID = "/:id"
    REST = "/*"
    SEGMENTS_MAX = 8
    PATH_BYTES_MAX = 1024
    METHODS = %w[CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT TRACE].to_h { |m| [m, m] }.freeze
    OTHER_METHOD = "OTHER"
    WORD = %r{\A[a-z_][^/.]*\z}i
    LAST_DIGIT = "9".ord
    private_constant :WORD, :LAST_DIGIT

    # The words as segments. Changed only by know.
    @segments = {}
    @names = {}
    # A tree of the paths that have names: method, segments, and at nil the name.
    @paths = Hash.new { |_, _| {} }
    @late = false

    class << self
      # More words that may become part of an endpoint: the application's own.
      def know(words)
        words.each do |word|
          unless WORD.match?(word)
            raise ArgumentError, "not a segment that begins with a letter: #{word.inspect}"
          end

          @segments[word.to_s] = "/#{word}"
        end
      end

      # A router will tell the endpoints (publish): none is taken from a path before.
      def late!
        @late = true
      end

      def late?
        @late
      end

      # For a router, or the application itself: the route of this request, without its method and
      # mount point. Of several the first is taken.
      def publish(env, route)
        return if env[KEY]

        name = named(join(method_of(env), mount_point(env), route))
        env[KEY] = name
        Correlator.update(endpoint: name) unless Correlator[:endpoint]
        nil
      rescue StandardError
        nil
      end

      # At the end of a call: an endpoint for a request that got none.
      def settle(env)
        return if Correlator[:endpoint]

        Correlator.update(endpoint: env[KEY] || yield)
      rescue StandardError
        nil
      end

      # The name of a path, whatever its bytes.
      def of_path(method, mount_point, path)
        method = METHODS[method] || OTHER_METHOD
        path = "#{mount_point}#{path}" if path.nil? || !(mount_point.nil? || mount_point.empty?)
        node = @paths[method]
        each_segment(path) { |segment| node = node[segment] || (break node = nil) }
        (node && node[nil]) || learn(method, path)
      end

      # The same String for the same name, as few as there may be.
      def named(name)
        name = name.byteslice(0, BYTES_MAX)
        known = @names[name]
        return known if known
        return OTHER if @names.size >= NAMES_MAX

        @names[name.freeze] = name
      end

      # A path with all that is not a known word replaced.
      def normalize(path)
        normal = +""
        each_segment(path) { |segment| normal << segment }
        normal.empty? ? "/" : normal
      end

      private

      # Yields the Strings of @segments, ID or REST.
      def each_segment(path)
        path = path.byteslice(0, PATH_BYTES_MAX) if path.bytesize > PATH_BYTES_MAX
        path = path.b unless path.ascii_only?
        from = count = 0
        while (first = path.getbyte(from))
          to = path.index("/", from) || path.bytesize
          if to > from
            return yield REST if (count += 1) > SEGMENTS_MAX

            yield first <= LAST_DIGIT ? ID : segment(path.byteslice(from, to - from))
          end
          from = to + 1
        end
      end

      # Without a format, as routes have none.
      def segment(text)
        known = @segments[text]
        return known if known

        dot = text.index(".")
        (dot && @segments[text.byteslice(0, dot)]) || ID
      end

      def learn(method, path)
        name = named("#{method} #{normalize(path)}")
        return name if name.equal?(OTHER)

        node = (@paths[method] = @paths[method])
        each_segment(path) { |segment| node = (node[segment] ||= {}) }
        node[nil] = name
      end

      def method_of(env)
        METHODS[env["REQUEST_METHOD"]] || OTHER_METHOD
      end

      # Who mounts an application may take a part of it from the path: "/:tenant/admin".
      def mount_point(env)
        given = env["SCRIPT_NAME"].to_s
        given.empty? ? "" : normalize(given)
      end

      def join(method, mount_point, route)
        route = "/#{route}" unless route.start_with?("/")
        route = "" if route == "/" && !mount_point.empty?
        "#{method} #{mount_point}#{route}"
      end
    end

    know(WORDS)
  end
end
