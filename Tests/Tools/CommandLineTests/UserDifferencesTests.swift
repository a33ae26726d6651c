import CountersignMessages
import Testing

@testable import CommandLine

@Suite struct UserDifferencesTests {
  let declared = UserDeclaration.countersign

  func found(_ state: UserState) -> [TopologyDifference] {
    UserDifferences(declared: declared, state: state, virtualHost: "/").differences()
  }

  func texts(_ state: UserState) -> [String] { found(state).map(\.description) }

  @Test func `Users as declared have no differences`() {
    #expect(found(declared.asState) == [])
  }

  @Test func `A missing user can be added`() {
    var state = declared.asState
    state.users.removeAll { $0.name == "gateway" }
    let differences = found(state)
    #expect(differences.map(\.description) == ["user gateway is missing"])
    #expect(differences.allSatisfy { $0.isFixable })
  }

  @Test func `Rights that differ are named and can be set`() throws {
    var state = declared.asState
    let index = try #require(state.permissions.firstIndex { $0.user == "service" })
    let old = state.permissions[index]
    state.permissions[index] = .init(user: "service", configure: ".*", write: old.write, read: old.read)
    let differences = found(state)
    #expect(differences.count == 1 && differences[0].isFixable)
    #expect(differences[0].description.hasPrefix("rights of user service: configure is .* instead of ^("))
  }

  @Test func `Missing and foreign routing keys are told`() {
    var state = declared.asState
    state.topicPermissions.removeAll { $0.user == "gateway" }
    state.topicPermissions.append(.init(user: "operator", exchange: "countersign.jobs", write: "x", read: "y"))
    #expect(
      texts(state) == [
        "user gateway lacks its routing keys of countersign.events: write ^$, read ^keys\\.published$",
        "user operator has undeclared rights to routing keys of countersign.jobs",
      ])
  }

  @Test func `Tags that nobody declared are for a person`() throws {
    var state = declared.asState
    let index = try #require(state.users.firstIndex { $0.name == "service" })
    state.users[index] = .init(name: "service", tags: ["management"], limits: state.users[index].limits)
    let differences = found(state)
    #expect(differences.map(\.description) == ["user service has the tag management instead of no tag"])
    #expect(differences.map(\.remedy) == [.byHand("rabbitmqctl set_user_tags service")])
  }

  @Test(arguments: ["service", "operator", "stranger"])
  func `Nobody may speak for another`(user: String) throws {
    var state = declared.asState
    let old = state.users.first { $0.name == user }
    state.users.removeAll { $0.name == user }
    state.users.append(.init(name: user, tags: (old?.tags ?? []) + ["impersonator"], limits: old?.limits ?? [:]))
    let differences = found(state)
    #expect(
      differences.map(\.description) == [
        "user \(user) has the tag impersonator, which lets it publish as any other user"
      ])
    #expect(!differences.contains { $0.isFixable })
  }

  @Test func `Limits that are missing can be set and others are the sites choice`() throws {
    var state = declared.asState
    let service = try #require(state.users.firstIndex { $0.name == "service" })
    let sender = try #require(state.users.firstIndex { $0.name == "sender" })
    state.users[service] = .init(name: "service", limits: ["max-channels": 9])
    state.users[sender] = .init(name: "sender", limits: ["max-channels": 9, "max-connections": 9])
    state.virtualHosts = []
    #expect(
      texts(state) == ["user service has no limit max-connections", "the virtual host / has no limit max-queues"])
  }

  @Test func `A stranger with rights is told`() {
    var state = declared.asState
    state.users.append(.init(name: "old"))
    state.users.append(.init(name: "idle"))
    state.permissions.append(.init(user: "old", configure: "", write: "", read: ".*"))
    state.permissions.append(.init(user: "idle", configure: "", write: "^$", read: ""))
    #expect(texts(state) == ["user old has undeclared rights: configure , write , read .*"])
  }

  @Test func `A service with a user of its own is as it should be`() {
    let state = (declared + [.service("billing"), .sender("crm")]).asState
    #expect(found(state) == [])
    #expect(
      UserDifferences(declared: declared, state: state, virtualHost: "/").notes() == [
        "user billing has the rights of service", "user crm has the rights of sender",
      ])
  }

  @Test func `An administrator is noted and guest is not`() {
    var state = declared.asState
    for name in ["admin", "guest"] {
      state.users.append(.init(name: name, tags: ["administrator"]))
      state.permissions.append(.init(user: name, configure: ".*", write: ".*", read: ".*"))
    }
    #expect(found(state).map(\.remedy) == [.byHand("rabbitmqctl delete_user guest")])
  }
}

extension [UserDeclaration] {
  var asState: UserState {
    UserState(
      users: map { .init(name: $0.name, tags: $0.tags, limits: $0.limits?.values ?? [:]) },
      permissions: map { .init(user: $0.name, configure: $0.configure, write: $0.write, read: $0.read) },
      topicPermissions: flatMap { user in
        user.topics.map { .init(user: user.name, exchange: $0.exchange, write: $0.write, read: $0.read) }
      }, virtualHosts: [.init(limits: ["max-queues": 5])])
  }
}
