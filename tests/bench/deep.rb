# SPDX-License-Identifier: GPL-2.0-only
# frozen_string_literal: true

# Burns its CPU in one request, so many methods deep, in one of eight at the top; or sleeps there, for
# NAP_MS again and again; or burns it in OpenSSL there.
# ruby -I ... deep.rb DEPTH [NAP_MS | native]   says "ready" and its thread pointer
require "correlator"
require "fiddle"
require "openssl"

8.times { |n| eval("def leaf_#{n} = 200.times { |i| i }", binding, "leaves.rb", n + 1) }

IS_NATIVE = ARGV[1] == "native"
NAP_S = IS_NATIVE ? 0 : Float(ARGV[1] || 0) / 1000
DATA = Random.bytes(200_000)

def descend(depth)
  return descend(depth - 1) if depth.positive?

  loop { sleep NAP_S } if NAP_S.positive?
  loop { OpenSSL::Digest::SHA512.digest(DATA) } if IS_NATIVE
  loop do
    leaf_0
    leaf_1
    leaf_2
    leaf_3
    leaf_4
    leaf_5
    leaf_6
    leaf_7
  end
end

POINTER = Fiddle::Function.new(Fiddle.dlopen(nil)["pthread_self"], [], Fiddle::TYPE_UINTPTR_T).call

Thread.new do
  $stdout.sync = true
  puts "ready #{POINTER}"
  $stdin.read
  exit!
end
# Above the methods are the block of a leaf, Integer#times, the leaf, loop and its block.
Correlator.with(request_id: "deep", endpoint: "GET /deep") { descend(Integer(ARGV[0]) - 8) }
