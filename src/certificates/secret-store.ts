import { isObject } from '../rule/index.ts'
import type { SecretData } from './authority-data.ts'

/** Where the replicas keep the state that they share. */
export interface SecretStore {
  /** As it is stored now, or undefined when there is none. */
  read(): Promise<StoredSecret | undefined>
  /** Throws SecretConflict when there is one already. */
  create(data: SecretData): Promise<void>
  /** Sets these values. Throws SecretConflict when it is not, or no longer, that version. */
  update(data: SecretData, resourceVersion: string): Promise<void>
}

export interface StoredSecret {
  readonly data: SecretData
  readonly resourceVersion: string
}

/** Another replica wrote first: read again. */
export class SecretConflict extends Error {}

/** The part of a ClusterConnection that is used. */
export interface SecretConnection {
  readSecret(namespace: string, name: string, signal: AbortSignal): Promise<object | undefined>
  createSecret(namespace: string, name: string, data: SecretData, signal: AbortSignal): Promise<void>
  updateSecret(
    namespace: string,
    name: string,
    change: { readonly data: SecretData; readonly resourceVersion: string },
    signal: AbortSignal,
  ): Promise<void>
}

const CONFLICT = 409
const NOT_FOUND = 404

/** A Secret of a cluster. What else it holds is left as it is. */
export function clusterSecret(
  connection: SecretConnection,
  namespace: string,
  name: string,
  signal: AbortSignal,
): SecretStore {
  return {
    async read() {
      const secret = await connection.readSecret(namespace, name, signal)
      return secret === undefined ? undefined : storedIn(secret)
    },
    create: (data) => conflicts([CONFLICT], connection.createSecret(namespace, name, data, signal)),
    update: (data, resourceVersion) =>
      conflicts(
        [CONFLICT, NOT_FOUND],
        connection.updateSecret(namespace, name, { data, resourceVersion }, signal),
      ),
  }
}

async function conflicts(statuses: readonly number[], work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    const { status } = error as { readonly status?: unknown }
    if (typeof status === 'number' && statuses.includes(status)) throw new SecretConflict('409 conflict')
    throw error
  }
}

function storedIn(secret: object): StoredSecret {
  const { metadata, data } = secret as { readonly metadata?: unknown; readonly data?: unknown }
  const { resourceVersion } = isObject(metadata) ? metadata : {}
  if (typeof resourceVersion !== 'string') throw new Error('the answer is no Secret')
  const entries = Object.entries(isObject(data) ? data : {})
  const texts = entries.map(([key, value]) => [key, Buffer.from(String(value), 'base64').toString()])
  return { data: Object.fromEntries(texts) as SecretData, resourceVersion }
}
