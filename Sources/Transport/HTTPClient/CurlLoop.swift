import CCurl
import CountersignConcurrency
import Curl
import Dispatch
import Glibc

/// Owner of libcurl's multi handle and its easy handles. Runs on its own serial queue, which also watches the sockets.
actor CurlLoop {
  /// Interval of the checks for overdue first bytes and waiting requests. libcurl keeps the other time-outs, to the ms.
  private static let sweepNanoseconds: UInt64 = 20_000_000
  private static let maxIdleSlots = 256
  private static let readyBatch = CCURL_READY_BATCH

  nonisolated let executor: SerialQueueExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let configuration: HTTPClient.Configuration
  private let inbox: RequestInbox
  private let events: MultiEvents
  private let connections = Connections()
  private let multi: UnsafeMutableRawPointer
  private var socketSource: (any DispatchSourceRead)?
  private var timer: (any DispatchSourceTimer)?
  /// In nanoseconds of the monotonic clock.
  private var armed: UInt64?
  private var nextSweep: UInt64?
  /// First come, first served.
  private var waiting = RingBuffer<RequestSubmission>()
  private var running: [UInt64: Slot] = [:]
  private var idle: [Slot] = []
  private var added = 0
  /// Whether the last answer came over HTTP/2, where one connection carries many requests.
  private var isMultiplexed = false
  private var isShutDown = false

  init(configuration: HTTPClient.Configuration, inbox: RequestInbox) throws(TransportError) {
    let epoll = ccurl_epoll_create()
    guard epoll >= 0, let multi = curl_multi_init() else {
      if epoll >= 0 { close(epoll) }
      throw TransportError(kind: .other, requestMayHaveLeft: false, description: "no descriptor or memory for libcurl")
    }
    let events = MultiEvents(epoll: epoll)
    let maxConnections = configuration.pool.maxPerHost ?? configuration.maxConcurrent
    guard events.attach(to: multi) == CURLM_OK,
      ccurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, maxConnections) == CURLM_OK,
      ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, max(maxConnections, configuration.maxConcurrent)) == CURLM_OK
    else {
      curl_multi_cleanup(multi)
      throw TransportError(kind: .other, requestMayHaveLeft: false, description: "libcurl refused an option")
    }
    self.configuration = configuration
    self.inbox = inbox
    self.events = events
    self.multi = multi
    executor = SerialQueueExecutor(label: "countersign.curl")
    executor.queue.async { self.assumeIsolated { $0.startSources() } }
  }

  nonisolated func wake() {
    executor.queue.async { self.assumeIsolated { $0.onWake() } }
  }

  /// For an owner that cannot wait.
  nonisolated func shutDownInBackground() {
    executor.queue.async { self.assumeIsolated { $0.shutDown() } }
  }

  func shutDown() {
    guard !isShutDown else { return }
    isShutDown = true
    for case .send(let submission) in inbox.close() { submission.continuation.resume(returning: .failure(.closed)) }
    while let submission = waiting.popFirst() { submission.continuation.resume(returning: .failure(.closed)) }
    for slot in Array(running.values) { end(slot, with: slot.failure(.closed, "the HTTP transport was shut down")) }
    idle = []
    socketSource?.cancel()
    timer?.cancel()
    // Closes the pooled connections. The sources do not outlive the descriptor: it is closed with `events`, after them.
    curl_multi_cleanup(multi)
  }
}

// MARK: - Events

extension CurlLoop {
  private func startSources() {
    guard !isShutDown else { return }
    let source = DispatchSource.makeReadSource(fileDescriptor: events.epoll, queue: executor.queue)
    source.setEventHandler { [weak self] in self?.assumeIsolated { $0.onSockets() } }
    // Keeps the descriptor open until Dispatch has let go of it.
    source.setCancelHandler { [loop = self] in _ = loop }
    source.activate()
    socketSource = source
    let timer = DispatchSource.makeTimerSource(queue: executor.queue)
    timer.setEventHandler { [weak self] in self?.assumeIsolated { $0.onTimer() } }
    timer.activate()
    self.timer = timer
  }

  private func onWake() {
    guard !isShutDown else { return }
    for order in inbox.takeAll() {
      switch order {
      case .send(let submission): waiting.append(submission)
      case .cancel(let id): cancel(id)
      }
    }
    serveIfLate()
    settle()
  }

  private func onSockets() {
    guard !isShutDown else { return }
    serve()
    serveIfLate()
    settle()
  }

  @discardableResult
  private func serve() -> Bool {
    withUnsafeTemporaryAllocation(of: ccurl_ready.self, capacity: Self.readyBatch) { ready in
      let count = ccurl_epoll_ready(events.epoll, ready.baseAddress)
      for event in ready.prefix(max(0, Int(count))) { act(event.socket, event.mask) }
      return Int(count) == Self.readyBatch
    }
  }

  /// Reads the answers that have arrived before time-outs are looked at, when this loop was held up: by a process that
  /// was stopped, or a machine that slept.
  private func serveIfLate() {
    guard let armed, armed + Self.sweepNanoseconds < DispatchTime.now().uptimeNanoseconds else { return }
    for _ in 0...running.count / Self.readyBatch where !serve() { return }
  }

  private func onTimer() {
    guard !isShutDown else { return }
    serveIfLate()
    armed = nil
    settle()
  }

  private func act(_ socket: curl_socket_t, _ mask: Int32) {
    var count: Int32 = 0
    // Its only errors are a bad handle and no memory; a transfer's failure comes as its message.
    curl_multi_socket_action(multi, socket, mask, &count)
  }

  private func settle() {
    var now = DispatchTime.now().uptimeNanoseconds
    repeat {
      if events.takeDue(now) { runDue() }
      harvest()
      startWaiting(now)
      now = DispatchTime.now().uptimeNanoseconds
    } while events.wanted.map { $0 <= now } ?? false
    sweep(now)
    arm()
  }

  private func runDue() {
    let isBatch = configuration.version == .http2 && added > 1
    added = 0
    guard isBatch else { return act(CURL_SOCKET_TIMEOUT, 0) }
    events.corked { act(CURL_SOCKET_TIMEOUT, 0) }
  }

  private func arm() {
    guard let next = [events.wanted, nextSweep].compactMap({ $0 }).min() else { return }
    // An earlier alarm does no harm: it finds nothing to do and arms the timer again.
    if let armed, armed <= next { return }
    armed = next
    timer?.schedule(deadline: DispatchTime(uptimeNanoseconds: next), leeway: .microseconds(500))
  }
}

// MARK: - Requests

extension CurlLoop {
  private func startWaiting(_ now: UInt64) {
    while running.count < configuration.maxConcurrent, isMultiplexed || connections.hasRoom(running: running.count),
      let submission = waiting.popFirst()
    {
      start(submission, now)
    }
  }

  private func start(_ submission: RequestSubmission, _ now: UInt64) {
    guard submission.deadline > now else { return answer(submission, .failure(Self.timedOutWaiting)) }
    guard let slot = idle.popLast() ?? Slot(configuration, connections) else {
      return answer(submission, .failure(Self.noMemory))
    }
    let code = slot.prepare(submission, remaining: submission.deadline - now)
    guard code == CURLE_OK, curl_multi_add_handle(multi, slot.easy.pointer) == CURLM_OK else {
      let result = slot.result(code == CURLE_OK ? CURLE_OUT_OF_MEMORY : code)
      return answer(submission, result)
    }
    running[submission.id] = slot
    connections.begins()
    added += 1
  }

  private func harvest() {
    var easy: UnsafeMutableRawPointer?
    var code = CURLE_OK
    while ccurl_next_finished(multi, &easy, &code) != 0 {
      var context: UnsafeMutableRawPointer?
      guard let easy, ccurl_get_pointer(easy, CURLINFO_PRIVATE, &context) == CURLE_OK else { continue }
      let slot = Slot.from(context)
      let result = slot.result(code)
      end(slot, with: result)
    }
  }

  private func end(_ slot: Slot, with error: TransportError) { end(slot, with: .failure(error)) }

  private func end(_ slot: Slot, with result: Result<HTTPResponse, TransportError>) {
    curl_multi_remove_handle(multi, slot.easy.pointer)
    guard let submission = slot.finish() else { return }
    running[submission.id] = nil
    note(slot, result, submission.request)
    // After a failure a handle keeps buffers that forbid setting its options anew, and libcurl counts how often it has
    // sent again over the life of a handle, and refuses after five times.
    if case .success = result, slot.attempts == 1, idle.count < Self.maxIdleSlots { idle.append(slot) }
    answer(submission, result)
  }

  private func note(_ slot: Slot, _ result: Result<HTTPResponse, TransportError>, _ request: HTTPRequest) {
    switch result {
    case .success(let response):
      isMultiplexed = response.version == .http2
      // An answer without a request: libcurl never does so, and the count must be right nevertheless.
      if slot.attempts == 0 { connections.endsUnconnected(nil) }
    case .failure(let error):
      guard slot.attempts == 0 else { return }
      connections.endsUnconnected(error.kind)
      if connections.failures >= Connections.maxOpening { giveUpWaiting(for: request.authority, after: error) }
    }
  }

  /// They would fail the same way, later.
  private func giveUpWaiting(for authority: String, after error: TransportError) {
    connections.forgetFailures()
    let failure = TransportError(
      kind: error.kind, requestMayHaveLeft: false,
      description: "\(error.description); not tried again: \(Connections.maxOpening) connections in a row ended so")
    for submission in waiting.removeAll(where: { $0.request.authority == authority }) {
      answer(submission, .failure(failure))
    }
  }

  private func answer(_ submission: RequestSubmission, _ result: Result<HTTPResponse, TransportError>) {
    inbox.recordAnswer()
    submission.continuation.resume(returning: result)
  }

  private func cancel(_ id: UInt64) {
    if let slot = running[id] {
      end(slot, with: slot.failure(.canceled, "canceled"))
    } else {
      for submission in waiting.removeAll(where: { $0.id == id }) { answer(submission, .failure(.canceledEarly)) }
    }
  }

  /// Ends what libcurl does not time: requests without a slot, and those that wait for the first byte.
  private func sweep(_ now: UInt64) {
    guard nextSweep.map({ $0 <= now }) ?? true else { return }
    for submission in waiting.removeAll(where: { $0.deadline <= now }) {
      answer(submission, .failure(Self.timedOutWaiting))
    }
    var isTimed = !waiting.isEmpty
    for slot in Array(running.values) where slot.submission?.request.timeouts.firstByte != nil && !slot.hasFirstByte {
      if let deadline = slot.firstByteDeadline, deadline <= now {
        end(slot, with: slot.failure(.timedOut(.firstByte), "timed out (firstByte)"))
      } else {
        isTimed = true
      }
    }
    nextSweep = isTimed ? now + Self.sweepNanoseconds : nil
  }

  private static let timedOutWaiting = TransportError(
    kind: .timedOut(.waiting), requestMayHaveLeft: false, description: "timed out before a slot was free")
  private static let noMemory = TransportError(
    kind: .other, requestMayHaveLeft: false, description: "no memory for a request")
}
