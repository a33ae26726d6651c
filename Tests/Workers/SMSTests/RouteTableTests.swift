import JobEngine
import Testing

@testable import SMS

@Suite struct RouteTableTests {
  private func names(
    _ routes: [LaneRoute], to number: String = "+4915112345678", app: String? = nil, jobID: String = "j",
    region: String? = "DE"
  ) -> [String] {
    RouteTable(routes).lanes(to: number, app: app, jobID: jobID) { region }.map(\.name)
  }

  private func route(_ name: String, _ rules: RouteRules) -> LaneRoute { LaneRoute(FakeLane(name), rules: rules) }

  @Test func `Without rules every lane takes everything, in the order of the configuration`() {
    #expect(names([LaneRoute(FakeLane("a")), LaneRoute(FakeLane("b"))]) == ["a", "b"])
  }

  @Test func `By the beginning of the number`() {
    let routes = [
      route("mobile", RouteRules(prefixes: ["+49151", "+4917"])), route("de", RouteRules(prefixes: ["+49"])),
      route("any", RouteRules()),
    ]
    #expect(names(routes) == ["mobile", "de", "any"])
    #expect(names(routes, to: "+493012345678") == ["de", "any"])
    #expect(names(routes, to: "+14155550123") == ["any"])
  }

  @Test func `By the app; a job without one takes lanes without a list`() {
    let routes = [route("a", RouteRules(apps: ["com.example.a", "com.example.b"])), route("any", RouteRules())]
    #expect(names(routes, app: "com.example.b") == ["a", "any"])
    #expect(names(routes, app: "com.example.c") == ["any"])
    #expect(names(routes) == ["any"])
  }

  @Test func `All rules have to let it through, and the region is asked for once, if at all`() {
    let rules = RouteRules(regions: ["DE"], prefixes: ["+49"], apps: ["a"])
    let routes = [route("x", rules), route("y", rules)]
    var asked = 0
    let lanes = RouteTable(routes).lanes(to: "+4915112345678", app: "a", jobID: "j") {
      asked += 1
      return "DE"
    }
    #expect(lanes.map(\.name) == ["x", "y"] && asked == 1)
    _ = RouteTable(routes).lanes(to: "+4915112345678", app: "b", jobID: "j") {
      asked += 1
      return "DE"
    }
    #expect(asked == 1)
    #expect(names(routes, to: "+14155550123", app: "a") == [])
    #expect(names(routes, app: "a", region: nil) == [])
  }

  @Test func `Lanes with a weight share the messages in proportion, the others stay behind as a fallback`() {
    let routes = [
      route("first", RouteRules()), route("three", RouteRules(weight: 3)), route("one", RouteRules(weight: 1)),
      route("last", RouteRules()),
    ]
    var firsts: [String: Int] = [:]
    for number in 0..<4_000 {
      let order = names(routes, jobID: "job-\(number)")
      #expect(order.first == "first" && order.last == "last" && Set(order).count == 4)
      firsts[order[1], default: 0] += 1
    }
    // 3,000 expected; the standard deviation is 27.
    #expect((2_850...3_150).contains(firsts["three"] ?? 0))
  }

  @Test func `A job has the same order however often it comes back`() {
    let routes = ["a", "b", "c", "d"].map { route($0, RouteRules(weight: 1)) }
    for number in 0..<50 {
      let orders = (1...3).map { _ in names(routes, jobID: "job-\(number)") }
      #expect(Set(orders).count == 1)
    }
    #expect(Set((0..<50).map { names(routes, jobID: "job-\($0)") }).count > 10)
  }

  @Test func `Lots are between 0 and 1 and differ with the last letter`() {
    let lots = (0..<1_000).map { Lot.uniform("job-\($0)", "lane") }
    #expect(lots.allSatisfy { $0 > 0 && $0 < 1 } && Set(lots).count == 1_000)
    #expect((0.45...0.55).contains(lots.reduce(0, +) / 1_000))
  }
}
