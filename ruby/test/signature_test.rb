# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "rbconfig"
require "correlator"
begin
  require "rbs"
rescue LoadError
  nil
end

# sig/correlator.rbs says what the library defines: each public constant and method, with what it
# takes, and no other. Public is what is neither private nor marked :nodoc:, as what a framework
# calls is.
class SignatureTest < Minitest::Test
  FILE = File.expand_path("../sig/correlator.rbs", __dir__)
  LIBRARY = File.dirname(Correlator.method(:inherit).source_location.first)
  # The files that are loaded when they are named: what they need, and the constant that only they
  # define.
  INTEGRATIONS = {
    "concurrent" => [%w[concurrent], nil],
    "delayed_job" => [%w[logger delayed_job], :DelayedJob],
    "grape" => [%w[logger active_support grape], nil],
    "grpc" => [%w[grpc], :GRPC],
    "opentelemetry" => [[], :OpenTelemetry],
    "rails" => [%w[logger rails], :Railtie],
    "sinatra" => [%w[sinatra/base], nil],
    "thread" => [[], nil]
  }.freeze

  # Only a framework that is not there may be missing, not a file of ours. What frameworks warn of
  # is theirs.
  def self.load_integration(file, needed)
    verbose, $VERBOSE = $VERBOSE, nil
    needed.each { |one| require one }
    $VERBOSE = verbose
    framework_is_there = true
    require "correlator/#{file}"
  rescue LoadError
    raise if framework_is_there

    $VERBOSE = verbose
    false
  else
    true
  end

  MISSING = INTEGRATIONS.reject { |file, (needed, _)| load_integration(file, needed) }.freeze
  NOT_LOADED = MISSING.values.map(&:last).compact.freeze

  def setup
    skip "there is no rbs" unless defined?(RBS)
    @declared = {}
    @constants = []
    parsed = RBS::Parser.parse_signature(File.read(FILE))
    # Since RBS 3 with the buffer and its directives.
    declarations = parsed.last.is_a?(Array) ? parsed.last : parsed
    declarations.each { |one| declare(one, "") }
  end

  def declare(declaration, outer)
    name = "#{outer}#{declaration.name.name}"
    @constants << name
    return unless declaration.respond_to?(:members)

    declaration.members.each do |member|
      case member
      when RBS::AST::Members::MethodDefinition
        separator = member.kind == :singleton ? "." : "#"
        @declared["#{name}#{separator}#{member.name}"] = functions(member)
      when RBS::AST::Declarations::Class, RBS::AST::Declarations::Module,
           RBS::AST::Declarations::Constant
        declare(member, "#{name}::")
      end
    end
  end

  def functions(member)
    types = member.respond_to?(:overloads) ? member.overloads.map(&:method_type) : member.types
    types.map(&:type)
  end

  # Public constants below a module, the modules among them with theirs.
  def constants_below(object, name)
    names = object.constants(false).sort
    names -= NOT_LOADED if object.equal?(Correlator)
    names.flat_map do |constant|
      value = object.const_get(constant)
      next [] if undocumented?(object.const_source_location(constant))

      full = "#{name}::#{constant}"
      value.is_a?(Module) ? [[full, value], *constants_below(value, full)] : [[full, value]]
    end
  end

  def all_constants
    @all_constants ||= [["Correlator", Correlator], *constants_below(Correlator, "Correlator")]
  end

  def defined_methods
    modules = all_constants.select { |_, value| value.is_a?(Module) }
    modules.flat_map { |name, value| methods_of(name, value) }.to_h
  end

  def methods_of(name, value)
    of_instances = value.public_instance_methods(false)
    of_instances << :initialize if value.private_method_defined?(:initialize, false)
    all = value.singleton_methods(false).map { |one| ["#{name}.#{one}", value.method(one)] } +
          of_instances.map { |one| ["#{name}##{one}", value.instance_method(one)] }
    all.reject { |_, method| theirs?(method) || undocumented?(method.source_location) }
  end

  # What frameworks add to a class of ours. (Functions in C are nowhere.)
  def theirs?(method)
    method.source_location && !method.source_location.first.start_with?("#{LIBRARY}/")
  end

  def undocumented?(location)
    file, line = location
    file && line && lines_of(file)[line - 1].to_s.include?("# :nodoc:")
  end

  def lines_of(file)
    (@lines ||= {})[file] ||= File.exist?(file) ? File.readlines(file) : []
  end

  def loaded?(name)
    NOT_LOADED.none? { |constant| name.match?(/\ACorrelator::#{constant}\b/) }
  end

  def test_each_public_method_is_declared_and_no_other
    there = defined_methods.keys
    assert_equal [], there - @declared.keys, "defined, but not in #{FILE}"
    assert_equal [], @declared.keys.select { |name| loaded?(name) } - there,
                 "in #{FILE}, but not defined"
  end

  def test_each_public_constant_is_declared_and_no_other
    there = all_constants.map(&:first)
    assert_equal [], there - @constants, "defined, but not in #{FILE}"
    assert_equal [], @constants.select { |name| loaded?(name) } - there,
                 "in #{FILE}, but not defined"
  end

  def test_all_integrations_are_compared
    skip "not compared, as not installed: #{MISSING.keys.join(", ")}" unless MISSING.empty?
    assert_empty NOT_LOADED
  end

  def test_methods_take_what_is_declared
    methods = defined_methods
    @declared.each do |name, functions|
      method = methods[name]
      # Functions in C only say that they take anything.
      next if method.nil? || method.source_location.nil?

      assert_equal declared_shape(functions), shape(method), name
    end
  end

  # How many it wants and takes by position (nil: any number), and its keywords.
  def shape(method)
    kinds = method.parameters.group_by(&:first).transform_values { |ones| ones.map(&:last) }
    required = kinds.fetch(:req, []).size
    { required: required,
      most: kinds.key?(:rest) ? nil : required + kinds.fetch(:opt, []).size,
      keywords: (kinds.fetch(:key, []) + kinds.fetch(:keyreq, [])).sort,
      any_keyword: kinds.key?(:keyrest) }
  end

  def declared_shape(functions)
    required = functions.map { |one| one.required_positionals.size + one.trailing_positionals.size }
    most = functions.map do |one|
      required.min + one.optional_positionals.size unless one.rest_positionals
    end
    { required: required.min,
      most: most.include?(nil) ? nil : most.max,
      keywords: functions.flat_map { |one| one.required_keywords.keys + one.optional_keywords.keys }
                         .uniq.sort,
      any_keyword: functions.any?(&:rest_keywords) }
  end

  def test_all_types_that_are_named_exist
    script = "RBS::CLI.new(stdout: $stdout, stderr: $stderr).run(ARGV)"
    command = [RbConfig.ruby, "-r", "rbs", "-r", "rbs/cli", "-e", script, "--",
               "-I", File.dirname(FILE), "validate"]
    output = IO.popen(command, err: %i[child out], &:read)
    assert_predicate $?, :success?, output
  end
end
