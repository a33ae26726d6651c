import CountersignAMQP
import ServiceRuntime

/// Keeps the publishing connection up.
struct PublisherService: Service {
  let name = "publisher"
  let publisher: Publisher

  func run() async {
    await publisher.run()
  }

  func stop() async {
    await publisher.stop()
  }
}
