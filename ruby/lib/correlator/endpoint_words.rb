# SPDX-License-Identifier: MIT
# frozen_string_literal: true

module Correlator
  module Endpoint
    # The segments of a path that may become part of an endpoint: what routes are made of, and
    # nothing that names a person, a place or a thing of somebody's.
    WORDS = %w[
      about accept access account accounts action actions activate activities activity add address
      addresses admin admins all analytics api app approve apps archive article articles assets
      async auth authorize avatar backup balance basket batch billing blog board boards bookings
      books bulk cable calendar callback callbacks calls campaigns cancel cards cart carts catalog
      categories category channels charges chat check checkout clients close collections comment
      comments companies complete config configuration confirm confirmation contact contacts
      content contracts conversations copy count countries coupons create css csv current customer
      customers dashboard data debug default delete deliveries demo deploy destroy detail details
      devices diff disable discounts discover docs documents domains download downloads draft
      drafts edit email emails enable errors event events explore export exports failure faq
      favicon favorites features feed feedback feeds fields file files filter filters folders
      follow followers following fonts form forms forum games graphql group groups health
      healthcheck healthz help history home hook hooks html images img import imports inbox index
      info install integrations internal inventory invitations invite invites invoice invoices
      issues item items job jobs js json keys labels languages latest leads legal likes lines link
      links list lists live livez load local locale locations lock log login logo logout logs mail
      manage manifest map me media members membership memberships merge message messages meta
      metadata metrics mobile models modules move name new news newsletter notes notification
      notifications oauth offers open options order orders organization organizations orgs overview
      owner package packages page pages participants partners password passwords patients payment
      payments pending people permissions photos ping plans play podcasts policies policy poll post
      posts preferences preview pricing print privacy private process product production products
      profile profiles project projects promotions properties public publish purchase purchases
      push queries query queue queues quotes rails ratings raw read ready readyz recent recover
      redirect refresh refunds register registration registrations reject reload remove rename
      report reports requests reservations reset resources restore results resume retry return
      returns review reviews robots roles rooms root rpc rss rules run sales save schedule
      schedules schema scripts search secure send server services session sessions settings setup
      share shipments shipping shop shops show sign_in sign_out sign_up signin signout signup
      sitemap sites sleep snapshot sources spaces start state static statistics stats status steps
      stop storage store stores stories stream streams students styles submit subscribe
      subscription subscriptions summary support sync system tables tag tags tasks taxes team teams
      templates tenants terms test tests themes threads tickets time timeline token tokens tools
      topics track tracks trade transactions transfers trash trips types undo unlock unread
      unsubscribe up update updates upgrade upload uploads user users v0 v1 v2 v3 v4 v5 v6 v7 v8 v9
      validate vehicles vendors verification verify version versions video videos view views visits
      vote votes wallet warehouses web webhook webhooks websocket wiki work workers workspaces
      write ws xml
    ].freeze
    private_constant :WORDS
  end
end
