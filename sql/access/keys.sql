-- API keys: how one is made, found and locked.

-- Register a key by its hash; the key itself never comes here. Without p_agent_id it is the key of a new agent with
-- role p_role in the namespace, which is its home, or in each of p_namespaces, of all of which the caller must be an
-- admin; one that the operator makes for several belongs to the operator. With p_agent_id it is a further key of an
-- agent that is at home here, or of any that the operator names; to others there is no such agent. It works in
-- p_namespaces, else wherever its agent is granted something. Requests that name no namespace mean p_default_namespace,
-- else the home, else this one. p_space: where it writes in working memory (bound_space). p_user: for whom it speaks
-- and asks (speaking_user). p_time_zone: in which that one asks. The key that asks gives no higher limit, no wider
-- reach, no other space and no other user than its own. Admins of the namespace, and the operator. Security
-- definer: writes agents, grants and keys. Errors: 42501, P0002 (namespace, agent_id), 23514 (role, scope, rate_limit,
-- space), 22023 (expires_at in the past, too).
create or replace function loci_api.create_key(
    p_namespace text, p_role text, p_name text, p_id uuid, p_hash bytea, p_expires_at timestamptz default null,
    p_scope text default 'admin', p_namespaces text[] default null, p_agent_id uuid default null,
    p_rate_limit integer default null, p_default_namespace text default null, p_space text default null,
    p_user text default null, p_time_zone text default null)
returns table (id uuid, agent_id uuid, created_at timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns    integer := loci_internal.authorize(coalesce(p_namespace, p_namespaces[1]), 'admin');
    v_limit integer := (select k.rate_limit from loci_data.api_keys k
                        where k.id = nullif(current_setting('loci.key', true), '')::uuid);
    v_space text := coalesce(p_space, nullif(current_setting('loci.space', true), ''));
    v_user  text := loci_internal.speaking_user(p_user);
    v_reach integer[];
    v_key   loci_data.api_keys;
begin
    perform loci_internal.refuse_several_cells(array_append(p_namespaces, p_namespace), 'namespaces');
    perform loci_internal.require_moment_to_come(p_expires_at, 'expires_at');
    if p_agent_id is null then
        v_reach := array(select distinct loci_internal.authorize(n.name, 'admin') from unnest(p_namespaces) n(name)
                         order by 1);
    else
        perform loci_internal.check_key_agent(v_ns, p_agent_id, p_role);
        v_reach := loci_internal.granted_namespaces(p_agent_id, p_namespaces);
    end if;
    if p_namespaces is null then
        v_reach := nullif(current_setting('loci.scope_namespaces', true), '');
    elsif v_ns <> all (v_reach) then
        raise invalid_parameter_value using column = 'namespaces',
            message = format('namespaces must hold the namespace of the request, %s',
                             (select n.name from loci_data.namespaces n where n.id = v_ns));
    end if;
    if p_rate_limit > v_limit then
        raise invalid_parameter_value using column = 'rate_limit',
            message = format('rate_limit must be at most %s, the limit of your key, not %s', v_limit,
                             p_rate_limit);
    end if;
    perform loci_internal.require_within_own_key(v_reach, v_space);
    p_agent_id := coalesce(p_agent_id, loci_internal.create_key_agent(v_ns, p_name, p_role, case
                           when p_namespaces is not null then v_reach else array[v_ns] end));
    insert into loci_data.api_keys (id, agent_id, name, hash, expires_at, scope, namespaces, rate_limit, bucket,
                                    created_by, default_namespace_id, space, user_name, time_zone)
    values (p_id, p_agent_id, p_name, p_hash, p_expires_at, p_scope, v_reach, coalesce(p_rate_limit, v_limit), p_id,
            loci.current_agent(), loci_internal.check_default_namespace(v_ns, p_agent_id, v_reach, p_default_namespace),
            v_space, v_user, loci_internal.check_time_zone(p_time_zone))
    returning * into v_key;
    perform loci_internal.log_key_change(v_ns, v_key, 'created', null);
    return query select v_key.id, v_key.agent_id, v_key.created_at;
end $$;
comment on function loci_api.create_key(text, text, text, uuid, bytea, timestamptz, text, text[], uuid, integer, text,
                                        text, text, text) is
    'Register an API key by its SHA-256: of a new agent with a role, or a further one of an agent. Admin. Errors: '
    '42501, P0002, 23514, 22023.';

-- A new agent that holds keys, with a role in namespaces that its maker may grant. Its home is the namespace that it is
-- made in; the operator's agents for several have none. Returns its id. Errors: 23514 (role).
create or replace function loci_internal.create_key_agent(p_namespace_id integer, p_name text, p_role text,
                                                          p_namespaces integer[]) returns uuid
language plpgsql volatile set search_path = ''
as $$
declare
    v_id uuid := loci_api.uuid7();
begin
    insert into loci_data.agents (id, name, kind, home_id)
    values (v_id, p_name, 'key', case when cardinality(p_namespaces) = 1 or not loci_internal.is_operator()
                                      then p_namespace_id end);
    insert into loci_data.grants (namespace_id, agent_id, role)
    select n.id, v_id, p_role from unnest(p_namespaces) n(id) order by n.id;
    return v_id;
end $$;
comment on function loci_internal.create_key_agent(integer, text, text, integer[]) is
    'Make an agent that holds keys, with a role in namespaces; its id.';

-- May the caller, an admin of this namespace, make a further key of this agent? It must be one that holds keys, and at
-- home here; the operator may for each. Its roles are those of its grants. Errors: P0002 (agent_id: whether there is
-- one elsewhere is not said), 22023 (role).
create or replace function loci_internal.check_key_agent(p_namespace_id integer, p_agent_id uuid, p_role text)
returns void
language plpgsql stable set search_path = ''
as $$
begin
    if p_role is not null then
        raise invalid_parameter_value using column = 'role',
            message = 'role must be left out with agent_id: the agent''s grants hold; scope says what the key does of '
                      'them';
    end if;
    perform from loci_data.agents a
    where a.id = p_agent_id and a.kind = 'key' and (a.home_id = p_namespace_id or loci_internal.is_operator());
    if not found then
        raise no_data_found using column = 'agent_id',
            message = format('no agent %s that has keys belongs to this namespace', p_agent_id);
    end if;
end $$;
comment on function loci_internal.check_key_agent(integer, uuid, text) is
    'Raise unless a further key of this agent may be made in a namespace.';

-- Numbers of the namespaces named, in all of which an agent has a grant. Errors: P0002 (p_field, by which they were
-- named: the first where it has none, whether or not there is such a namespace).
create or replace function loci_internal.granted_namespaces(p_agent_id uuid, p_namespaces text[],
                                                            p_field text default 'namespaces') returns integer[]
language plpgsql stable set search_path = ''
as $$
declare
    v_ids     integer[];
    v_missing text;
begin
    select array_agg(distinct g.namespace_id), min(w.name) filter (where g.namespace_id is null) into v_ids, v_missing
    from unnest(p_namespaces) w(name)
    left join loci_data.namespaces n on n.name = w.name
    left join loci_data.grants g on g.namespace_id = n.id and g.agent_id = p_agent_id;
    if v_missing is not null then
        raise no_data_found using column = p_field,
            message = format('the agent has no grant in namespace %L', v_missing);
    end if;
    return v_ids;
end $$;
comment on function loci_internal.granted_namespaces(uuid, text[], text) is
    'Numbers of namespaces in all of which an agent has a grant. Errors: P0002.';

-- Number of the namespace of a key's requests that name none: the one that is stated, which its agent must have a grant
-- in; else the agent's home; else the one that the key is made in. It must be one that the key works in. Errors: P0002,
-- 22023 (both default_namespace).
create or replace function loci_internal.check_default_namespace(p_namespace_id integer, p_agent_id uuid,
                                                                 p_reach integer[], p_stated text) returns integer
language plpgsql stable set search_path = ''
as $$
declare
    v_home   integer := (select n.id from loci_data.agents a join loci_data.namespaces n on n.id = a.home_id
                         where a.id = p_agent_id);
    v_stated integer := (loci_internal.granted_namespaces(p_agent_id, array[p_stated], 'default_namespace'))[1];
begin
    if p_stated is not null and v_stated <> all (p_reach) then
        raise invalid_parameter_value using column = 'default_namespace',
            message = format('default_namespace must be one of the namespaces of the key, not %L', p_stated);
    end if;
    return coalesce(v_stated, case when p_reach is null or v_home = any (p_reach) then v_home end, p_namespace_id);
end $$;
comment on function loci_internal.check_default_namespace(integer, uuid, integer[], text) is
    'Number of the default namespace of a new key. Errors: P0002, 22023.';

-- The key with this hash that may be used now, or the key that the browser session with this hash stands for; all null
-- where there is none. Looked up by a fingerprint, so the index compares nothing that a key could be guessed by. The
-- whole hash is compared as a hash of itself and a new random number: how long that takes, and where the first
-- difference stands, has nothing to do with the stored hash. Unknown, expired and revoked keys take the same steps. One
-- probe of api_keys_fingerprint_key; where that finds nothing, one of browser_sessions_pkey. About 15 µs.
create or replace function loci_internal.find_key(p_hash bytea) returns loci_data.api_keys
language plpgsql volatile set search_path = ''
as $$
declare
    v_key     loci_data.api_keys;
    v_session loci_data.browser_sessions;
    v_nonce   bytea := uuid_send(gen_random_uuid());
    v_same    boolean;
    v_live    boolean;
begin
    select * into v_key from loci_data.api_keys k where k.fingerprint = substr(sha256(p_hash), 1, 8);
    if v_key.id is null then
        select * into v_session from loci_data.browser_sessions s where s.fingerprint = substr(sha256(p_hash), 1, 8);
        select * into v_key from loci_data.api_keys k where k.id = v_session.key_id;
    end if;
    v_same := sha256(coalesce(v_session.hash, v_key.hash, v_nonce || v_nonce) || v_nonce) = sha256(p_hash || v_nonce);
    v_live := v_key.revoked_at is null
        and least(v_key.expires_at, v_session.expires_at, 'infinity') > clock_timestamp();
    return case when v_same and v_live then v_key end;
end $$;
comment on function loci_internal.find_key(bytea) is
    'The valid API key with this SHA-256, or of the browser session with it, compared in a time that says nothing of '
    'it; null for none.';

-- Is there any key that would be accepted? The service asks before it listens to more than loopback.
create or replace function loci_api.has_keys() returns boolean
language sql stable security definer set search_path = ''
as $$
    select exists (select from loci_data.api_keys
                   where revoked_at is null and (expires_at is null or expires_at > clock_timestamp()))
$$;
comment on function loci_api.has_keys() is
    'Whether an unexpired, unrevoked API key exists.';

-- Lock a key so that it can be changed or ended. Its agent must be at home in the namespace, whose admin the caller is;
-- the operator may name any key. To others it is not there. Errors: P0002 (id).
create or replace function loci_internal.lock_key(p_namespace_id integer, p_id uuid) returns loci_data.api_keys
language plpgsql volatile set search_path = ''
as $$
declare
    v_key loci_data.api_keys;
begin
    select k.* into v_key from loci_data.api_keys k
    where k.id = p_id and (loci_internal.is_operator()
                           or exists (select from loci_data.agents a
                                      where a.id = k.agent_id and a.home_id = p_namespace_id))
    for no key update;
    if v_key.id is null then
        raise no_data_found using column = 'id', message = format('key %s does not exist in this namespace', p_id);
    end if;
    return v_key;
end $$;
comment on function loci_internal.lock_key(integer, uuid) is
    'Lock an API key of an agent that is at home in a namespace. Errors: P0002.';

-- The namespaces that a key reaches: its agent's grants, also those whose time is over, of those that the key names.
-- One index scan.
create or replace function loci_internal.key_namespaces(p_key loci_data.api_keys) returns setof integer
language sql stable set search_path = ''
as $$
    select g.namespace_id from loci_data.grants g
    where g.agent_id = p_key.agent_id and (p_key.namespaces is null or g.namespace_id = any (p_key.namespaces))
    order by g.namespace_id
$$;
comment on function loci_internal.key_namespaces(loci_data.api_keys) is
    'Numbers of the namespaces that a key reaches.';

-- The operations log says this of a key, and never its hash or fingerprint.
create or replace function loci_internal.key_record(p_key loci_data.api_keys) returns jsonb
language sql stable set search_path = ''
as $$
    select jsonb_build_object('name', p_key.name, 'agent_id', p_key.agent_id, 'scope', p_key.scope,
                              'space', p_key.space, 'user', p_key.user_name, 'time_zone', p_key.time_zone,
                              'rate_limit', p_key.rate_limit,
                              'expires_at', p_key.expires_at, 'revoked_at', p_key.revoked_at,
                              'replaced_by', p_key.replaced_by)
$$;
comment on function loci_internal.key_record(loci_data.api_keys) is
    'Fields of an API key that may be shown.';
