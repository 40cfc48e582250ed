# SPDX-License-Identifier: GPL-2.0-only
# frozen_string_literal: true

# Stands in for Fluentd 1.16 and 1.19, which Debian does not have: reads its configuration as those do,
# and evaluates the Ruby in it.
#
# ruby fluentd.rb FILE says `ready PORT`; when its standard input ends it delivers what it has
# acknowledged. As the real one, it goes on with parameters and sections that a plugin does not use:
# that it only says. A delivery that the real one would try for ever is a failure: exit status 1.
require "digest"
require "json"
require "msgpack"
require "net/http"
require "openssl"
require "ostruct"
require "securerandom"
require "socket"

DEADLINE_SECONDS = 30

# What each plugin takes: parameters, and sections with theirs. nil: whatever is there.
PLUGINS = {
  "source forward" => [%w[port bind tag add_tag_prefix backlog skip_invalid_event], {
    "transport" => [%w[version min_version max_version insecure ca_path cert_path private_key_path
                       private_key_passphrase client_cert_auth], {}],
    "security" => [%w[self_hostname shared_key user_auth allow_anonymous_source], {
      "user" => [%w[username password], {}], "client" => [%w[host network shared_key users], {}],
    }],
  }],
  "filter record_transformer" => [%w[remove_keys keep_keys renew_record renew_time_key enable_ruby
                                     auto_typecast], { "record" => nil }],
  "match http" => [%w[endpoint http_method proxy content_type json_array headers open_timeout
                      read_timeout ssl_timeout tls_ca_cert_path tls_client_cert_path
                      tls_private_key_path tls_verify_mode error_response_as_unrecoverable
                      retryable_response_codes reuse_connections compress], {
    "format" => [%w[@type add_newline], {}], "auth" => [%w[method username password], {}],
    "buffer" => [%w[@type path chunk_limit_size chunk_limit_records total_limit_size flush_mode
                    flush_interval flush_thread_count flush_at_shutdown retry_forever
                    retry_max_interval retry_wait retry_timeout overflow_action], {}],
  }],
}.freeze

def complain(text)
  warn "[warn]: #{text}"
end

# A section of the configuration: <name argument>, parameters, sections.
class Section
  attr_reader :name, :argument, :parameters, :sections

  def initialize(name, argument)
    @name = name
    @argument = argument
    @parameters = {}
    @sections = []
  end

  def self.read(lines, name = nil, argument = nil)
    section = new(name, argument)
    while (line = lines.shift)
      case line.strip
      when "", /\A#/ then next
      when "</#{name}>" then return section
      when /\A<(\w+)\s*(.*?)>\z/ then section.sections << read(lines, $1, $2)
      when /\A(\S+)\s+(.*)\z/ then section.parameters[$1] = value($2)
      else raise "configuration: #{line}"
      end
    end
    raise "configuration: no </#{name}>" if name

    section
  end

  # In double quotes \#{} is Ruby.
  def self.value(text)
    text.start_with?('"') ? eval(text) : text.sub(/\s#.*/, "")
  end

  def [](parameter)
    parameters[parameter]
  end

  def true?(parameter)
    %w[true yes].include?(self[parameter])
  end

  def section(wanted)
    sections.find { |each| each.name == wanted }
  end

  def plugin
    "#{name} #{self['@type']}"
  end

  def check(known = PLUGINS.fetch(plugin))
    return unless known

    (parameters.keys - known[0] - %w[@type @id @label @log_level]).each do |parameter|
      complain "parameter '#{parameter}' in <#{name} #{argument}> is not used."
    end
    sections.each do |each|
      next each.check(known[1][each.name]) if known[1].key?(each.name)

      complain "section <#{each.name}> is not used in <#{name} #{argument}>"
    end
  end

  def takes?(tag)
    parts = { '\.\*\*' => '(\..*)?', '\*\*' => ".*", '\*' => "[^.]+" }
    pattern = Regexp.escape(argument).gsub(Regexp.union(parts.keys), parts)
    tag.match?(/\A#{pattern}\z/)
  end
end

# EventTime, as Fluentd has it: a time to Time.at.
EventTime = Struct.new(:seconds, :nanoseconds) do
  def time
    Time.at(seconds, nanoseconds, :nanosecond)
  end
end

FACTORY = MessagePack::Factory.new
FACTORY.register_type(0, EventTime, unpacker: ->(data) { EventTime.new(*data.unpack("NN")) })

# A connection to <source> @type forward: greets, and keeps what comes before it acknowledges it.
class Connection
  def initialize(socket, security, chunks)
    @socket = socket
    @security = security
    @chunks = chunks
    @unpacker = FACTORY.unpacker
  end

  def serve
    return if @security && !greets

    each_message do |tag, entries, option|
      @chunks << [tag, entries]
      @socket.write({ "ack" => option["chunk"] }.to_msgpack)
    end
  rescue SystemCallError, IOError, OpenSSL::SSL::SSLError => error
    complain error.message
  ensure
    @socket.close
  end

  private

  def each_message(&block)
    loop { @unpacker.feed_each(@socket.readpartial(1 << 20), &block) }
  rescue EOFError
    nil
  end

  def greets
    nonce, auth = Array.new(2) { SecureRandom.random_bytes(16) }
    @socket.write(["HELO", { "nonce" => nonce, "auth" => auth, "keepalive" => true }].to_msgpack)
    each_message { |ping| return answer(ping, nonce, auth) }
  end

  def answer(ping, nonce, auth)
    _, client, salt, digest, user, password = ping
    name, key = @security["self_hostname"], @security["shared_key"]
    reason = "shared_key mismatch" if digest != sha512(salt, client, nonce, key)
    reason ||= "username/password mismatch" unless allowed?(user, password, auth)
    proof = reason ? "" : sha512(salt, name, nonce, key)
    @socket.write(["PONG", !reason, reason || "", name, proof].to_msgpack)
    !reason
  end

  def allowed?(user, password, auth)
    return true unless @security.true?("user_auth")

    @security.sections.any? do |each|
      each.name == "user" && each["username"] == user &&
        sha512(auth, user, each["password"]) == password
    end
  end

  def sha512(*parts)
    Digest::SHA512.hexdigest(parts.map(&:b).join)
  end
end

# <filter> @type record_transformer.
class RecordTransformer
  # What the Ruby of a placeholder sees.
  class Room < BasicObject
    def initialize(tag, time, record)
      @names = { tag: tag, time: time, record: record, tag_parts: tag.split("."),
                 hostname: ::Socket.gethostname }
    end

    def method_missing(name, *)
      @names.fetch(name) { ::Kernel.raise ::NameError, "undefined local variable `#{name}'" }
    end

    def respond_to_missing?(name, *)
      @names.key?(name)
    end
  end

  def initialize(section)
    @ruby = section.true?("enable_ruby")
    @typecast = section["auto_typecast"] != "false"
    @map = section.section("record").parameters
    @remove = section["remove_keys"].to_s.split(",")
  end

  def transform(tag, time, record)
    added = @map.transform_values { |text| expand(text, tag, time.time, record) }
    record.merge(added).reject { |name,| @remove.include?(name) }
  end

  private

  def expand(text, tag, time, record)
    return expand_names(text, tag, time, record) unless @ruby

    code = "\"#{text.gsub('${', '#{')}\""
    code = text[2..-2] if @typecast && text.start_with?("${") && text.end_with?("}") &&
                          text.scan("${").size == 1
    Room.new(tag, time, record).instance_eval(code)
  rescue StandardError, SyntaxError => error
    complain "failed to expand `#{text}`: #{error.message}"
    nil
  end

  def expand_names(text, tag, time, record)
    names = { "${tag}" => tag, "${time}" => time.to_s, "${hostname}" => Socket.gethostname }
    record.each { |key, value| names["${record[\"#{key}\"]}"] = value }
    text.gsub(/\$\{[^}]+\}/) do |name|
      complain "unknown placeholder `#{name}` found" unless names.key?(name)
      names[name].to_s
    end
  end
end

# <match> @type http, with <format> @type json.
class HttpOutput
  def initialize(section)
    @uri = URI(section["endpoint"])
    @headers = { "Content-Type" => section["content_type"] || "application/x-ndjson" }
    type = section.section("format")&.[]("@type") || "json"
    raise "configuration: <format> @type #{type}" unless type == "json"
  end

  def deliver(events)
    body = events.map { |_, record| "#{JSON.generate(record)}\n" }.join
    response = Net::HTTP.start(@uri.host, @uri.port, read_timeout: DEADLINE_SECONDS) do |http|
      http.post(@uri.request_uri, body, @headers)
    end
    complain "#{response.code} #{response.body}" unless response.is_a?(Net::HTTPSuccess)
    response.is_a?(Net::HTTPSuccess)
  end
end

# The plugins of a configuration.
class Pipeline
  def initialize(configuration)
    configuration.sections.each(&:check)
    @source, *others = configuration.sections.select { |each| each.name == "source" }
    raise "configuration: sources" unless others.empty? && @source.plugin == "source forward"

    @rest = configuration.sections - [@source]
    @chunks = Queue.new
  end

  def run
    server = listen
    port = server.local_address.ip_port
    server = with_tls(server) if @source.section("transport")&.argument == "tls"
    threads = accept_all(server)
    puts "ready #{port}"
    $stdout.flush
    $stdin.read
    threads.list.each { |thread| thread.join(DEADLINE_SECONDS) }
    Array.new(@chunks.size) { deliver(*@chunks.pop) }.all?
  end

  private

  def listen
    TCPServer.new(@source["bind"] || "0.0.0.0", Integer(@source["port"] || 24_224))
  end

  def with_tls(server)
    transport = @source.section("transport")
    context = OpenSSL::SSL::SSLContext.new
    context.add_certificate(OpenSSL::X509::Certificate.new(File.read(transport["cert_path"])),
                            OpenSSL::PKey.read(File.read(transport["private_key_path"])))
    OpenSSL::SSL::SSLServer.new(server, context)
  end

  def accept_all(server)
    connections = ThreadGroup.new
    Thread.new do
      loop do
        socket = server.accept
        security = @source.section("security")
        connections.add(Thread.new { Connection.new(socket, security, @chunks).serve })
      rescue OpenSSL::SSL::SSLError => error
        complain error.message
      end
    end
    connections
  end

  def deliver(tag, entries)
    events = FACTORY.unpacker.feed(entries).each.to_a
    @rest.select { |each| each.takes?(tag) }.each do |each|
      return HttpOutput.new(each).deliver(events) if each.name == "match"

      filter = RecordTransformer.new(each)
      events = events.map { |time, record| [time, filter.transform(tag, time, record)] }
    end
    complain "no patterns matched tag=#{tag.inspect}"
    false
  end
end

exit(Pipeline.new(Section.read(File.readlines(ARGV.fetch(0)))).run)
