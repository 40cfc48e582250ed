# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "correlator/endpoint_words"

module Correlator
  # The name of what a request asks for: "GET /orders/:id". It is the route where a router tells it,
  # and else the path, of which only known words are left: what a client makes up, a slug, an
  # address or a token, never becomes part of an endpoint. A process has no more than 1,000.
  #
  # A request gets one endpoint: the first that is published.
  module Endpoint
    # Where the Rack environment keeps the one that a router told.
    KEY = "correlator.endpoint"
    # What an observer captures of a value (VALUE_BYTES_MAX of Correlator).
    BYTES_MAX = 128 # :nodoc:
    NAMES_MAX = 1000
    OTHER = "(other)"
    ID = "/:id"
    REST = "/*"
    SEGMENTS_MAX = 8
    PATH_BYTES_MAX = 1024
    METHODS = %w[CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT TRACE].to_h { |m| [m, m] }.freeze
    OTHER_METHOD = "OTHER"
    NODES_MAX = 4 * NAMES_MAX
    PREFIX = :prefix
    # Where all segments lead to itself.
    OTHER_TREE = { nil => OTHER }.tap { |node| node.default = node }.freeze
    WORD = %r{\A[a-z_][^/.]*\z}i
    LAST_DIGIT = "9".ord
    private_constant :KEY, :NAMES_MAX, :OTHER, :ID, :REST, :SEGMENTS_MAX, :PATH_BYTES_MAX, :METHODS,
                     :OTHER_METHOD, :NODES_MAX, :PREFIX, :OTHER_TREE, :WORD, :LAST_DIGIT

    # The words as segments. Changed only by know.
    @segments = {}
    @names = {}
    @late = false

    class << self
      # More words that may become part of an endpoint: the application's own.
      def know(words) # :nodoc:
        words.each do |word|
          unless WORD.match?(word)
            raise ArgumentError, "not a segment that begins with a letter: #{word.inspect}"
          end

          @segments[word.to_s] = "/#{word}"
        end
      end

      # A router will tell the endpoints (publish): none is taken from a path before.
      def late! # :nodoc:
        @late = true
      end

      def late? # :nodoc:
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
      def settle(env) # :nodoc:
        return if Correlator[:endpoint]

        Correlator.update(endpoint: env[KEY] || yield)
      rescue StandardError
        nil
      end

      # The name of a path, whatever its bytes. (A mount point is its beginning.)
      def of_path(method, mount_point, path) # :nodoc:
        path = "#{mount_point}#{path}" if path.nil? || !(mount_point.nil? || mount_point.empty?)
        node = walk(@trees[method] || @trees[OTHER_METHOD], path)
        node[nil] ||= named(node[PREFIX])
      end

      # The same String for the same name, as few as there may be.
      def named(name) # :nodoc:
        name = name.byteslice(0, BYTES_MAX)
        known = @names[name]
        return known if known
        return OTHER if @names.size >= NAMES_MAX

        @names[name.freeze] = name
      end

      # A path with all that is not a known word replaced.
      def normalize(path)
        node = walk(@tree, path)
        node[nil] || node[PREFIX]
      end

      private

      # A node of a tree: the nodes below it, by segments; how names begin there; at nil its name.
      def tree(name, prefix)
        { nil => name, PREFIX => prefix }
      end

      # Through all segments of a path. Written for speed: each request comes here.
      def walk(node, path)
        path = path.byteslice(0, PATH_BYTES_MAX) if path.bytesize > PATH_BYTES_MAX
        path = path.b unless path.ascii_only?
        count = 0
        from = path.start_with?("/") ? 1 : 0
        while (first = path.getbyte(from))
          to = path.index("/", from) || path.bytesize
          if to > from
            return node[REST] || grow(node, REST) if (count += 1) > SEGMENTS_MAX

            segment = first <= LAST_DIGIT ? ID : segment(path.byteslice(from, to - from))
            node = node[segment] || grow(node, segment)
          end
          from = to + 1
        end
        node
      end

      # Without a format, as routes have none.
      def segment(text)
        known = @segments[text]
        return known if known

        dot = text.index(".")
        (dot && @segments[text.byteslice(0, dot)]) || ID
      end

      def grow(node, segment)
        return OTHER_TREE if (@nodes += 1) > NODES_MAX

        node[segment] = tree(nil, "#{node[PREFIX]}#{segment}")
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
    @nodes = 0
    @trees = [*METHODS.keys, OTHER_METHOD].to_h { |m| [m, tree("#{m} /", "#{m} ")] }
    @tree = tree("/", "")
  end
end
