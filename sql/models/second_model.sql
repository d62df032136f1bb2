-- The second model: how it is made ready, begins and is retired.

-- Make ready the model that is to give a second opinion: it is known from here on, and has its indexes, which are
-- empty. Only who stores vectors waits for these. Returns its number; null where no model is active, or this one is, or
-- it is being filled, or has vectors of an earlier use, or another is the second and has made vectors (p_replace: also
-- then). May be repeated. Security definer (makes indexes); the operator's. Errors: 42501, 22023 (other dimensions).
create or replace function loci_api.prepare_second_model(p_name text, p_dimensions integer,
                                                         p_asks integer default null, p_replace boolean default false)
returns smallint
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_model loci_data.embedding_models;
begin
    perform loci_internal.require_operator('change the second embedding model');
    lock table loci_data.embedding_models in share row exclusive mode;
    if not exists (select from loci_data.embedding_models m where m.active)
       or exists (select from loci_data.embedding_models m where m.name = p_name and (m.active or m.filling))
       or exists (select from loci_data.embedding_models m
                  where m.name = p_name and not m.in_use and m.dropped_at is null)
       or not p_replace and exists (select from loci_data.embedding_models m where m.second and m.name <> p_name
                                    and loci_internal.has_vectors(m.id)) then
        return null;
    end if;
    v_model := loci_internal.upsert_embedding_model(p_name, p_dimensions, p_asks);
    perform loci_internal.create_vector_indexes(v_model.id);
    -- so that nobody takes it for one whose vectors are left
    update loci_data.embedding_models m set dropped_at = clock_timestamp()
    where m.id = v_model.id and not m.in_use and m.dropped_at is null;
    return v_model.id;
end $$;
comment on function loci_api.prepare_second_model(text, integer, integer, boolean) is
    'Make a model ready to be the second, with its indexes; its number, null where it has another part. Operator only. '
    'Errors: 42501, 22023.';

-- Make a model that is ready the second one: from the commit on, all memories that are written wait for a vector of it,
-- too. Older memories are queued next (queue_reembedding). p_replace: also where another is the second and has made
-- vectors; that one is retired. False: another one stays the second, or this one is not ready. Writers wait for a
-- moment. May be repeated. Security definer; the operator's. Errors: 42501, 55P03 (writers did not let go).
create or replace function loci_api.begin_second_model(p_model_id smallint, p_replace boolean default false)
returns boolean
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_second loci_data.embedding_models;
begin
    perform loci_internal.require_operator('change the second embedding model');
    select * into v_second from loci_data.embedding_models m where m.second;
    if v_second.id = p_model_id then
        return true;
    end if;
    perform loci_internal.hold_writers();
    select * into v_second from loci_data.embedding_models m where m.second;
    if v_second.id <> p_model_id and not p_replace and loci_internal.has_vectors(v_second.id)
       or exists (select from loci_api.vector_indexes(p_model_id) i where i.valid is distinct from true)
       or not exists (select from loci_data.embedding_models m where m.id = p_model_id and not (m.active or m.filling))
    then
        return false;
    end if;
    update loci_data.embedding_models m set second = false, queued_at = null where m.second and m.id <> p_model_id;
    update loci_data.embedding_models m set second = true, dropped_at = null where m.id = p_model_id;
    return true;
end $$;
comment on function loci_api.begin_second_model(smallint, boolean) is
    'Make a model that is ready the second one; false where another one stays it. Operator only. Errors: 42501, 55P03.';

-- Ask the second model no more: it is retired, and its vectors are to be dropped (delete_retired_vectors). Returns its
-- name; null: there was none. Security definer; the operator's. Errors: 42501.
create or replace function loci_api.retire_second_model() returns text
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_name text;
begin
    perform loci_internal.require_operator('change the second embedding model');
    update loci_data.embedding_models m set second = false, queued_at = null where m.second
    returning m.name into v_name;
    return v_name;
end $$;
comment on function loci_api.retire_second_model() is
    'Have no second embedding model any more; the name of the one there was. Operator only. Errors: 42501.';
