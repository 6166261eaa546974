import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { choice, toggle, UsageError } from '../../configuration/flags.ts'
import { CONFIGURATION_FLAG, JUDGING_FLAGS } from '../../configuration/judging.ts'
import { KINDS } from '../../kinds/index.ts'
import type { Kind } from '../../kinds/kind.ts'
import { ClusterState } from '../../state/index.ts'
import {
  causeText,
  DEEPEST,
  type Finding,
  isBeingDeleted,
  isNestedOver,
  shownPath,
} from '../../rule/index.ts'
import { type Judge, type Submission } from '../../engine/index.ts'
import { defineCommand, type Invocation, UNREAD } from '../define-command.ts'
import { type CollectionDeletion, entryOf, type Write } from '../input/audit-log.ts'
import { whyUnread } from '../input/files.ts'
import { printLines } from '../input/reading.ts'
import { RELEASE_FLAGS } from '../input/release.ts'
import { type OpenWorld, openWorld } from '../input/world.ts'
import { judgeIn } from '../judge-in.ts'
import { type RepeatedFinding, type Replayed, replayJson, replayText } from '../output/replay.ts'
import { progressOn } from '../output/progress.ts'
import { EXIT, type Located } from '../output/report.ts'

const FLAGS = {
  output: choice('format of the output', ['human', 'json'], 'human'),
  advice: toggle('show advice too, which the webhook sends when an object is created'),
  quiet: toggle('print no progress'),
  ...CONFIGURATION_FLAG,
  ...JUDGING_FLAGS,
  ...RELEASE_FLAGS,
}

export const replay = defineCommand({
  name: 'replay',
  summary: 'judge the writes of audit logs as the webhook would have',
  arguments: [['[flags] LOG|- ...']],
  flags: FLAGS,
  examples: ['audit.log'],
  exitCodes: { 0: 'no write would have been denied', 1: 'at least one would have been', 3: UNREAD },
  run: judgeLogs,
})

async function judgeLogs({ flags, names }: Invocation<typeof FLAGS>): Promise<number> {
  if (names.length === 0)
    throw new UsageError('name audit logs of the API server, oldest first, or - for standard input')
  const world = await openWorld(flags, [])
  const judge = new Replay(world)
  const progress = progressOn(process.stderr, flags.quiet)
  const unread: Located[] = []
  for (const name of names) {
    try {
      let line = 0
      for await (const text of linesOf(name)) {
        line += 1
        progress.tell(() => `reading ${name}, line ${line}`)
        if (text.trim() !== '' && !judge.read(text))
          unread.push({ file: name, line, column: 1, message: NOT_AN_EVENT })
      }
    } catch (error) {
      unread.push({ file: name, line: 0, column: 0, message: whyUnread(error, name) })
    }
  }
  progress.end()
  // Prints only the first few problems: in a file of another format no line can be read.
  printLines(
    unread.slice(0, MOST_UNREAD).map((each) => ({ ...each, message: `cannot read: ${each.message}` })),
  )
  if (unread.length > MOST_UNREAD)
    process.stderr.write(`and ${unread.length - MOST_UNREAD} more lines that cannot be read\n`)
  const replayed = judge.result(flags.advice)
  process.stdout.write(flags.output === 'json' ? replayJson(replayed) : replayText(replayed))
  if (unread.length > 0) return EXIT.unread
  return replayed.denied > 0 ? EXIT.findings : EXIT.clean
}

const NOT_AN_EVENT = 'not an audit event: the log has an event of audit.k8s.io/v1 as JSON on each line'
const MOST_UNREAD = 5
const TOO_DEEP = `of objects that nest over ${DEEPEST} levels deep, which the webhook refuses`
const LEFT_OUT = 'in namespaces that the configuration leaves out'

const linesOf = (name: string) =>
  createInterface({ input: name === '-' ? process.stdin : createReadStream(name), crlfDelay: Infinity })

const kindOfResource: ReadonlyMap<string, Kind> = new Map(KINDS.map((kind) => [kind.plural, kind]))

/** Judges the writes in a Kubernetes audit log in order, each against the objects that earlier writes stored. */
class Replay {
  readonly #group: string
  readonly #judge: Judge
  readonly #state: ClusterState
  readonly #found = new Map<string, RepeatedFinding>()
  readonly #lacking = new Map<string, number>()
  #judged = 0
  #refused = 0
  #denied = 0
  #warned = 0
  #unknownBefore = 0

  constructor(world: OpenWorld) {
    const { group } = world
    this.#group = group
    // `knows` is false for every kind, because objects that the log does not contain may exist.
    const state = new ClusterState({ group, knows: () => false })
    this.#state = state
    this.#judge = judgeIn(world, state)
  }

  /** Judges the write in a line of the audit log; returns false when the line is not an audit event. */
  read(line: string): boolean {
    const entry = entryOf(line, this.#group)
    if (entry.is === 'write') this.#write(entry.write)
    else if (entry.is === 'deletion of a collection') this.#deleteCollection(entry.deletion)
    else if (entry.is === 'refused') this.#refused += 1
    return entry.is !== 'not an event'
  }

  result(advice: boolean): Replayed {
    const findings = [...this.#found.values()].filter(({ severity }) => advice || severity !== 'advice')
    return {
      judged: this.#judged,
      denied: this.#denied,
      warned: this.#warned,
      refused: this.#refused,
      unknownBefore: this.#unknownBefore,
      notJudged: Object.fromEntries(this.#lacking),
      findings,
    }
  }

  #write(write: Write): void {
    const kind = kindOfResource.get(write.resource)
    if (kind === undefined) return
    const before = this.#state.object(kind.kind, write.namespace, write.name)
    if (this.#judge.leavesOut(write.namespace)) this.#countLacking(LEFT_OUT)
    else if (isNestedOver(write.object, DEEPEST)) this.#countLacking(TOO_DEEP)
    else this.#judgeOrCount(kind, write, before)
    // Removes a deleted object from the state here. A later update in the log that removes its last finalizer must not
    // store the object again.
    const isGone = write.verb === 'delete' || write.object === undefined || isBeingDeleted(write.object)
    // As much as the webhook would know of an object that nests too deep: nothing.
    if (isGone || isNestedOver(write.object, DEEPEST))
      this.#state.remove(kind.kind, write.namespace, write.name)
    else this.#state.put(kind, write.object, write.namespace)
  }

  #judgeOrCount(kind: Kind, write: Write, before: unknown): void {
    const submission = this.#submission(kind, write, before)
    if (submission === undefined)
      this.#countLacking(write.lacking || 'deletions of objects that the log does not hold')
    else this.#judgeWrite(write, submission)
  }

  #deleteCollection({ deleted, hasSelector, ...shared }: CollectionDeletion): void {
    const kind = kindOfResource.get(shared.resource)
    if (kind === undefined) return
    const known = [...this.#state.all(kind.kind, shared.namespace)]
    if (deleted !== undefined) for (const write of deleted) this.#write(write)
    else if (hasSelector) {
      this.#countLacking('deletions by a selector, of objects that the log does not name')
      for (const { namespace, name } of known) this.#state.remove(kind.kind, namespace, name)
    } else if (known.length === 0) this.#countLacking('deletions of whole collections')
    else
      for (const { name } of known)
        this.#write({ ...shared, verb: 'delete', creates: false, name, object: undefined, lacking: '' })
  }

  #countLacking(why: string): void {
    this.#lacking.set(why, (this.#lacking.get(why) ?? 0) + 1)
  }

  #submission({ kind }: Kind, write: Write, before: unknown): Submission | undefined {
    const { verb, creates, namespace, name, user, object } = write
    const shared = { group: this.#group, kind, namespace, name, subResource: '', dryRun: false, user }
    if (verb === 'delete') {
      const oldObject = before ?? object
      return oldObject === undefined
        ? undefined
        : { ...shared, operation: 'DELETE', object: undefined, oldObject }
    }
    if (object === undefined) return undefined
    const operation = creates ? 'CREATE' : 'UPDATE'
    if (operation === 'UPDATE' && before === undefined && !isBeingDeleted(object)) this.#unknownBefore += 1
    return { ...shared, operation, object, oldObject: operation === 'CREATE' ? undefined : before }
  }

  #judgeWrite(write: Write, submission: Submission): void {
    const { errors, warnings } = this.#judge.admit(submission)
    this.#judged += 1
    if (errors.length > 0) this.#denied += 1
    else if (warnings.some(({ severity }) => severity === 'warning')) this.#warned += 1
    // If the webhook would deny the write, only the errors are counted, because the object would not be stored.
    for (const finding of errors.length > 0 ? errors : warnings) this.#add(write, submission, finding)
  }

  #add({ time, user, namespace, name }: Write, { kind }: Submission, finding: Finding): void {
    const { severity, id, error, prefix = '' } = finding
    const path = error.at.length === 0 ? '' : shownPath(error.at)
    const message = prefix + causeText(finding)
    const key = JSON.stringify([kind, namespace, name, severity, path, message])
    const known = this.#found.get(key)
    this.#found.set(key, {
      ...{ severity, id, kind, namespace, name, path, message },
      writes: (known?.writes ?? 0) + 1,
      first: known?.first ?? time,
      last: time,
      users: [...new Set([...(known?.users ?? []), user])],
    })
  }
}
