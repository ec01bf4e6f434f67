import { EventEmitter } from 'node:events'

/**
 * Topics of notifications. The text of one of `events` is the ID of a workspace that may have new events, the text of one
 * of `revocations` the ID of a user or API key whose access must be checked again, the text of one of `deletions` the ID of a
 * workspace that was deleted, the text of one of `jobs` a task whose jobs wait.
 */
export const TOPICS = ['events', 'revocations', 'deletions', 'jobs'] as const
export type Topic = (typeof TOPICS)[number]

/** The text is undefined if notifications of the topic may have been lost. */
type Receive = (text: string | undefined) => void

/**
 * Short texts for the subscribers of a topic in all processes. A notification may be lost, or arrive late or twice, so
 * subscribers also look from time to time for what it announces. A text is ASCII without commas, of 200 characters at most.
 */
export abstract class Notifications {
  /** By topic, and by topic and text. */
  readonly #subscribers = new EventEmitter().setMaxListeners(0)

  abstract open(): Promise<void>
  abstract close(): Promise<void>

  /** Does not wait until other processes can be reached. Called after a commit. */
  publish(topic: Topic, text: string): void {
    // A sign-out is answered after the session has ended in this process, a deletion after its workspace has.
    if (topic === 'revocations' || topic === 'deletions') this.deliver(topic, text)
    this.send(topic, text)
  }

  /** Calls `receive` for the notifications of a topic, or those of one text. Returns the function that ends it. */
  subscribe(topic: Topic, receive: Receive, { text }: { text?: string } = {}): () => void {
    const name = text === undefined ? topic : `${topic} ${text}`
    this.#subscribers.on(name, receive)
    return () => this.#subscribers.off(name, receive)
  }

  /** Passes a notification on to all processes, this one included. */
  protected abstract send(topic: Topic, text: string): void

  protected deliver(topic: Topic, text: string): void {
    this.#subscribers.emit(topic, text)
    this.#subscribers.emit(`${topic} ${text}`, text)
  }

  /** Wakes all subscribers after a time in which notifications may have been lost. */
  protected wakeAll(): void {
    for (const name of this.#subscribers.eventNames()) this.#subscribers.emit(name, undefined)
  }
}
