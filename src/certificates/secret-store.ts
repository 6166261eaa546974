import { isObject } from '../rule/index.ts'
import type { SecretData } from './authority-data.ts'

/** Stores in a Secret the CAs that all replicas share, with their keys. */
export interface SecretStore {
  /** The stored Secret; undefined when it does not exist. */
  read(): Promise<StoredSecret | undefined>
  /** Creates the Secret; throws SecretConflict when it exists. */
  create(data: SecretData): Promise<void>
  /** Sets these values in the Secret; throws SecretConflict when the Secret has another resourceVersion. */
  update(data: SecretData, resourceVersion: string): Promise<void>
}

export interface StoredSecret {
  readonly data: SecretData
  readonly resourceVersion: string
}

/** Thrown when another replica wrote first: the caller must read again. */
export class SecretConflict extends Error {}

/** The methods of ClusterConnection that are used here. */
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

/** A store in a Secret of a cluster; an update keeps the values of the Secret that it does not set. */
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
