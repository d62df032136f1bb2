-- Add a model, neither active nor filling, or find it: the same name has the same dimensions. Errors: 22023.
create or replace function loci_internal.upsert_embedding_model(p_name text, p_dimensions integer, p_asks integer)
returns loci_data.embedding_models
language plpgsql volatile set search_path = ''
as $$
declare
    v_model loci_data.embedding_models;
begin
    select * into v_model from loci_data.embedding_models m where m.name = p_name;
    if v_model.id is null then
        insert into loci_data.embedding_models (name, dimensions, asks) values (p_name, p_dimensions, p_asks)
        returning * into v_model;
    elsif v_model.dimensions <> p_dimensions then
        raise invalid_parameter_value using column = 'dimensions',
            message = format('the model %s has %s dimensions here, not %s', p_name, v_model.dimensions, p_dimensions);
    end if;
    return v_model;
end $$;
comment on function loci_internal.upsert_embedding_model(text, integer, integer) is
    'Add a model, or find it by its name.';
