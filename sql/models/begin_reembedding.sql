-- Begin to fill a model behind the active one: from the commit on, all that is written waits for a vector of both. A
-- model that is being filled already is joined. p_chosen: somebody asked for it by name. p_indexes makes its indexes
-- now, while it is empty: for who cannot build them concurrently, and has little to fill. Writers wait for a moment.
-- Security definer; the operator's. Errors: 42501, 22023 (no model is active, this one is, another is being filled,
-- vectors of an earlier use are left, other dimensions), 55P03 (writers did not let go).
create or replace function loci_api.begin_reembedding(
    p_name text, p_dimensions integer, p_asks integer default null, p_chosen boolean default true,
    p_indexes boolean default false)
returns smallint
language plpgsql volatile security definer set search_path from current
as $$
declare
    v_known loci_data.embedding_models;
    v_model loci_data.embedding_models;
    v_wrong text;
begin
    perform loci_internal.require_operator('change the embedding model');
    perform loci_internal.hold_writers();
    select * into v_known from loci_data.embedding_models m where m.name = p_name;
    v_wrong := case
        when not exists (select from loci_data.embedding_models m where m.active)
            then 'no embedding model is active, so there is none to take the place of'
        when v_known.active then format('the model %s is active already', p_name)
        when exists (select from loci_data.embedding_models m where m.filling and m.name <> p_name)
            then (select format('the model %s is being filled: go on with that one, or cancel it first', m.name)
                  from loci_data.embedding_models m where m.filling)
        when not v_known.in_use and v_known.dropped_at is null
            then format('the model %s has vectors of an earlier use, which must be dropped first', p_name)
    end;
    if v_wrong is not null then
        raise invalid_parameter_value using column = 'model', message = v_wrong;
    end if;
    v_model := loci_internal.upsert_embedding_model(p_name, p_dimensions, p_asks);
    update loci_data.embedding_models m
    set filling = true, second = false, chosen = m.chosen or p_chosen, dropped_at = null, queued_at = case
        when m.filling then m.queued_at end where m.id = v_model.id;
    if p_indexes then
        perform loci_internal.create_vector_indexes(v_model.id);
    end if;
    return v_model.id;
end $$;
comment on function loci_api.begin_reembedding(text, integer, integer, boolean, boolean) is
    'Begin to fill an embedding model behind the active one, or join in. Operator only. Errors: 42501, 22023, 55P03.';
