import CountersignConcurrency
import Dispatch

/// A link with its event sources and buffers. Belongs to the session's actor.
final class SMPPConnection {
  private let link: SMPPLink
  private let readable: any DispatchSourceRead
  private let writable: any DispatchSourceWrite
  private var isWaitingForRoom = false
  private var isEnded = false
  private var frames = FrameReader()
  private var output = OutputBuffer()

  private static let readBytes = 64 * 1024

  init(
    _ link: SMPPLink, queue: DispatchQueue, onReadable: @escaping @Sendable () -> Void,
    onWritable: @escaping @Sendable () -> Void
  ) {
    self.link = link
    readable = DispatchSource.makeReadSource(fileDescriptor: link.descriptor, queue: queue)
    writable = DispatchSource.makeWriteSource(fileDescriptor: link.descriptor, queue: queue)
    readable.setEventHandler(handler: onReadable)
    writable.setEventHandler(handler: onWritable)
    readable.activate()
  }

  func read() throws(SMPPError) -> Bool {
    var transfer = Transfer.mustWait
    let bytes = [UInt8](unsafeUninitializedCapacity: Self.readBytes) { buffer, count in
      transfer = link.read(into: UnsafeMutableRawBufferPointer(buffer))
      if case .bytes(let read) = transfer { count = read }
    }
    switch transfer {
    case .bytes:
      frames.append(bytes)
      return true
    case .mustWait: return false
    case .failed(let error): throw error
    }
  }

  func nextFrame() throws(FrameReader.BadLength) -> Frame? { try frames.next() }

  func queue(_ bytes: [UInt8], ticket: UInt64?) { output.append(bytes, ticket: ticket) }

  var isOverfull: Bool { output.isOverfull }

  func flush() throws(SMPPError) {
    while !output.isEmpty {
      switch output.withUnwritten(link.write) {
      case .bytes(let count): output.didWrite(count)
      case .mustWait: return waitForRoom()
      case .failed(let error): throw error
      }
    }
  }

  var unsent: Set<UInt64> { output.unsent }

  private func waitForRoom() {
    guard !isWaitingForRoom, !isEnded else { return }
    isWaitingForRoom = true
    writable.resume()
  }

  func stopWaitingForRoom() {
    guard isWaitingForRoom, !isEnded else { return }
    isWaitingForRoom = false
    writable.suspend()
  }

  func end() {
    guard !isEnded else { return }
    // A suspended source never calls its cancel handler.
    if !isWaitingForRoom { writable.resume() }
    isEnded = true
    // The descriptor may be closed only after both sources were canceled.
    let link = HandedOver(link)
    let sources = DispatchGroup()
    for source in [readable, writable] as [any DispatchSourceProtocol] {
      sources.enter()
      source.setCancelHandler { sources.leave() }
      source.cancel()
    }
    sources.notify(queue: .global()) { link.value.close() }
  }
}

/// Transfers a link from one queue to another. The previous owner does not touch it again.
struct HandedOver: @unchecked Sendable {
  let value: SMPPLink
  init(_ value: SMPPLink) { self.value = value }
}
